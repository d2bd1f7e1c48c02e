# Packages: a tarball of the commit, and a Debian package of what `make install` installs. docs/install.md says how they
# are used. VERSION stands in the Makefile; tests/install/test_packages.sh holds all else against it.
.PHONY: dist deb
dist:            ## build/dist/sweep-VERSION.tar.gz and its checksum: the commit, the same bytes from every clone
	@packaging/dist.sh $(VERSION) $(BUILD)/dist
deb: all         ## build/deb/ppo-sweep_VERSION_ARCH.deb, checked by lintian where it is; needs debhelper
	@rm -rf $(BUILD)/deb
	@$(MAKE) --no-print-directory install DESTDIR=$(abspath $(BUILD))/deb/installed PREFIX=/usr >/dev/null
	@packaging/deb.sh $(VERSION) '$(COMMIT)' $(DATE) $(BUILD)/deb $(word 3,$(RELEASED))
