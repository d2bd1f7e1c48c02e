/* Site files: order (site, experiment, --set), installed bases, errors and their positions; scripts with containers. */
#include "test.h"

#include "slurm/cluster.h"
#include "slurm/site.h"
#include "sweep/spec/spec.h"

static char path[64];

static int write_site(const char *text) {
  assert_int_equal(core_files_write_atomic(path, text, strlen(text)), CORE_OK);
  return setenv("SWEEP_SITE", path, 1);
}

static int read_site(const char *text, SlurmSettings *settings, SlurmSite *site) {
  write_site(text);
  *settings = slurm_settings_default();
  return slurm_site_apply(settings, site);
}

static void test_order(void **state) {
  static const char experiment[] = "[sweep]\nname = x\n[slurm]\naccount = theirs\ntime = 60\n";
  const char *const sets[] = {"slurm.time=30"};
  SweepSpec spec;
  SlurmSettings settings = slurm_settings_default();
  write_site("[slurm]\npartition = gpu\naccount = mine\ntime = 90\n");
  assert_int_equal(sweep_spec_parse("x.ini", experiment, NULL, sets, 1, &spec), CORE_OK);
  assert_int_equal(sweep_spec_slurm(&spec, &settings), CORE_OK);
  assert_string_equal(settings.partition, "gpu"); /* the site's */
  assert_string_equal(settings.account, "theirs"); /* the experiment's */
  assert_int_equal(settings.time, 1800); /* --set */
  sweep_spec_free(&spec);
}

static void test_where(void **state) {
  SlurmSettings settings = slurm_settings_default();
  SlurmSite site;
  char directory[] = "/tmp/test_site.XXXXXX", file[160], config[128];
  assert_non_null(mkdtemp(directory));
  setenv("SWEEP_SITE", "none", 1);
  assert_int_equal(slurm_site_apply(&settings, &site), CORE_OK);
  assert_string_equal(site.path, "");
  unsetenv("SWEEP_SITE");
  setenv("XDG_CONFIG_HOME", directory, 1);
  assert_int_equal(slurm_site_apply(&settings, &site), CORE_OK);
  assert_string_equal(site.path, ""); /* there is no site file */
  snprintf(config, sizeof config, "%s/sweep", directory);
  snprintf(file, sizeof file, "%s/site.ini", config);
  assert_int_equal(core_files_make_directories(config), CORE_OK);
  assert_int_equal(core_files_write_atomic(file, "[slurm]\nqos = long\n", 19), CORE_OK);
  assert_int_equal(slurm_site_apply(&settings, &site), CORE_OK);
  assert_string_equal(site.path, file);
  assert_string_equal(settings.qos, "long");
  unsetenv("XDG_CONFIG_HOME");
  assert_int_equal(core_files_remove_tree(directory), CORE_OK);
}

static void test_notify(void **state) {
  SlurmSettings settings;
  SlurmSite site;
  assert_int_equal(
    read_site("[notify]\nurl = https://hooks.example.org/services/T0/SECRET\nstyle = slack\non = failure\n", &settings,
              &site),
    CORE_OK);
  assert_string_equal(site.notify_style, "slack");
  assert_string_equal(site.notify_on, "failure");
  assert_non_null(strstr(site.notify_url, "SECRET"));
}

static void refused(const char *text, const char *words) {
  SlurmSettings settings;
  SlurmSite site;
  assert_int_equal(read_site(text, &settings, &site), CORE_USAGE);
  assert_message(words);
  assert_message(path);
  assert_null(strstr(core_error_message(), "SECRET"));
}

static void test_refused(void **state) {
  refused("[slurm]\npartion = x\n", ":2:1: slurm.partion is not a setting; did you mean slurm.partition?");
  refused("[slurm]\n\ntime = soon\n", ":3:8: slurm.time = soon");
  refused("[slrm]\n", "did you mean [slurm]?");
  refused("[site]\nbse = gres\n", "the only one is base");
  refused("[site]\nbase = ../../etc/passwd\n", "site");
  refused("[notify]\nulr = x\n", "did you mean notify.url?");
  refused("[notify]\nurl = ftp://x/SECRET\n", "https://");
  refused("[notify]\nurl = https://me:SECRET@host/\n", "password");
  refused("[notify]\nstyle = teams\n", "slack, ntfy, plain");
  refused("[notify]\non = always\n", "end, failure, both, never");
  refused("[slurm]\ncontainer = a b\n", "image's name");
  refused("[slurm]\nscratch = $(id)/x\n", "absolute path");
  refused("[slurm]\nscratch = /tmp/$NO_SUCH\n", "absolute path");
  refused("[slurm]\nscratch = tmp/x\n", "absolute path");
}

/* Every installed site is valid, and there are some: this program is two directories below the build directory. */
static void test_installed(void **state) {
  char **names;
  size_t count;
  assert_int_equal(core_files_list("slurm/sites", &names, &count), CORE_OK);
  assert_true(count >= 4);
  for (size_t i = 0; i < count; i++) {
    SlurmSettings settings = slurm_settings_default();
    SlurmSite site;
    CoreText text = {0};
    char *data;
    size_t size;
    snprintf(path, sizeof path, "slurm/sites/%s", names[i]);
    assert_int_equal(core_files_read(path, 0, &data, &size), CORE_OK);
    char *base = strstr(data, "\n[site]"); /* read by name where the program is installed: here without */
    if (base) memset(strstr(base, "base"), ';', 4);
    core_text_append(&text, data);
    snprintf(path, sizeof path, "/tmp/test_site.%d.ini", (int)getpid());
    if (read_site(core_text_string(&text), &settings, &site) != CORE_OK) fail_msg("%s", core_error_message());
    assert_int_equal(slurm_settings_check(&settings), CORE_OK);
    core_text_free(&text);
    free(data), free(names[i]);
  }
  free(names);
}

static void test_containers(void **state) {
  SlurmSettings settings = slurm_settings_default();
  const SlurmJob job = {.name = "n", .comment = "c", .directory = "/work/it's", .tasks = 1, .settings = &settings};
  const char *const command[] = {"/opt/sweep", "task", NULL};
  CoreText script = {0};
  assert_int_equal(slurm_settings_set(&settings, "container", "/images/sweep.sif"), CORE_OK);
  assert_int_equal(slurm_settings_set(&settings, "scratch", "/local/scratch"), CORE_OK);
  settings.gpus_per_run = 1;
  slurm_script_print(&job, command, &script);
  assert_non_null(strstr(core_text_string(&script), "export TMPDIR=\"/local/scratch\"\n"));
  assert_non_null(strstr(core_text_string(&script),
                         "exec apptainer exec --nv --bind '/work/it'\\''s' '/images/sweep.sif' '/opt/sweep' 'task'\n"));
  assert_int_equal(slurm_settings_set(&settings, "container_runtime", "pyxis"), CORE_OK);
  assert_int_equal(slurm_settings_set(&settings, "container", "registry.example.org#team/sweep:1"), CORE_OK);
  core_text_clear(&script);
  slurm_script_print(&job, command, &script);
  assert_non_null(
    strstr(core_text_string(&script), "#SBATCH --container-image=\"registry.example.org#team/sweep:1\"\n"));
  assert_non_null(strstr(core_text_string(&script), "\nexec '/opt/sweep' 'task'\n"));
  core_text_free(&script);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_order),     cmocka_unit_test(test_where),
                                     cmocka_unit_test(test_notify),    cmocka_unit_test(test_refused),
                                     cmocka_unit_test(test_installed), cmocka_unit_test(test_containers)};
  snprintf(path, sizeof path, "/tmp/test_site.%d.ini", (int)getpid());
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  unlink(path);
  return failed;
}
