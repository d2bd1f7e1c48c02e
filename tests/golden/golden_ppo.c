/* golden_ppo DIR [FILE...]: compares the trainer's float32 arithmetic with the PyTorch tensors of every .gold file in
 * DIR (or of the named ones): losses, all gradients, Adam, the proximal weights, GAE, KL. A file's case is known by
 * the tensors it holds, its sizes and settings are read from it, so any set in the format can be replayed. One line a
 * file: values compared, the worst |deviation| / tolerance and its tensor, ok or not ok. Exit status: 0 all ok, 1 a
 * deviation or a damaged file, 2 wrong use. */
#include <dirent.h>

#include "core/memory.h"
#include "tests/golden/golden_conv.h"
#include "tests/golden/golden_fixed_point.h"
#include "tests/golden/golden_gaussian.h"
#include "tests/golden/golden_metrics.h"
#include "tests/golden/golden_normalize.h"
#include "tests/golden/golden_lstm.h"
#include "tests/golden/golden_picture.h"
#include "tests/golden/golden_ppo_moments.h"
#include "tests/golden/golden_ppo_parts.h"
#include "tests/golden/golden_ppo_update.h"
#include "tests/golden/golden_pqn.h"
#include "tests/golden/golden_sapg.h"

/* A list of cases of GAE, or of convolutions. */
static void case_numbered(Check *check) {
  for (uint32_t i = 0; i < check->gold.count; i++) {
    if (strstr(check->gold.entry[i].name, "_conv_") == NULL) continue;
    case_conv_ops(check);
    return;
  }
  case_gae(check);
}

/* A case and the tensor by which a file is known. */
typedef struct Case { const char *tensor; void (*run)(Check *check); } Case;
static const Case cases[] = {
    {"in/z_behaviour", case_distribution}, {"in/mu_behaviour", case_gaussian}, {"in/raw", case_tanh_affine},
    {"hp/network", case_pictures}, {"hp/cases", case_numbered}, {"in/step0/h0", case_lstm},
    {"plain/in/advantage", case_advantage_norm}, {"in/step0/logp_behaviour", case_update},
    {"out/jax_dloss_dlogp", case_ties}, {"out/adam_theta", case_adam}, {"hp/layernorm_eps", case_pqn},
    {"in/log_std_blocks", case_sapg}, {"orthogonal/0/in/gaussian", case_layout}, {"moments/hp/parts", case_moments},
    {"rank/full/in/features", case_representation}, {"out/ref_kl", case_kl_profile},
    {"out/G50/run0/cells", case_coverage}, {"quadratic/hp/mu0", case_fixed_point},
    {"in/obs_after_reset", case_normalize},
};

typedef enum Verdict { VERDICT_OK, VERDICT_BAD, VERDICT_NOT_COVERED } Verdict;

static const Case *case_of(const Check *check) {
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    if (check_has(check, cases[i].tensor)) return &cases[i];
  return NULL;
}

/* Runs a file's case; a missing tensor inside it jumps back here. */
static Verdict run_case(Check *check) {
  const Case *const found = case_of(check);
  if (!found) return VERDICT_NOT_COVERED;
  if (setjmp(check->give_up)) {
    snprintf(check->where, sizeof check->where, "%s", core_error_message());
    return VERDICT_BAD;
  }
  found->run(check);
  return check->values > 0 && check->worst <= 1 ? VERDICT_OK : VERDICT_BAD;
}

static Verdict run_file(Ops *ops, const char *directory, const char *name) {
  char path[4096];
  Check *check = core_memory_zero_allocate(1, sizeof *check);
  Verdict verdict;
  snprintf(path, sizeof path, "%s/%s", directory, name);
  check->ops = ops;
  if (gold_open(&check->gold, path) != CORE_OK) {
    printf("%-28s not ok: %s\n", name, core_error_message());
    free(check);
    return VERDICT_BAD;
  }
  verdict = run_case(check);
  if (verdict == VERDICT_NOT_COVERED) {
    printf("%-28s not compared here\n", name);
  } else {
    printf("%-28s %8zu values  worst %8.3g of tolerance (%s)  %s%s%s\n", name, check->values, check->worst,
           check->where, verdict == VERDICT_OK ? "ok" : "not ok", check->left_out ? "; not compared: " : "",
           check->left_out ? check->left_out : "");
  }
  for (size_t i = 0; i < check->block_count; i++) free(check->blocks[i]);
  free(check->blocks);
  gold_close(&check->gold);
  free(check);
  return verdict;
}

static int is_gold(const struct dirent *entry) {
  size_t length = strlen(entry->d_name);
  return length > 5 && strcmp(entry->d_name + length - 5, ".gold") == 0;
}

int main(int argc, char **argv) {
  Ops *ops;
  struct dirent **entries = NULL;
  int files, bad = 0, good = 0;
  if (argc < 2 || argv[1][0] == '-') {
    fprintf(stderr,
            "usage: golden_ppo DIR [FILE...]\nCompares the trainer with the .gold files of DIR (see the README "
            "there).\n");
    return CORE_USAGE;
  }
  if (ops_cpu_create(0, 1 << 17, 4096, &ops) != CORE_OK) {
    fprintf(stderr, "golden_ppo: %s\n", core_error_message());
    return CORE_FAIL;
  }
  files = argc > 2 ? argc - 2 : scandir(argv[1], &entries, is_gold, alphasort);
  if (files < 1) {
    fprintf(stderr, files < 0 ? "golden_ppo: cannot read the folder %s\n" : "golden_ppo: no .gold files in %s\n",
            argv[1]);
    return CORE_USAGE;
  }
  for (int i = 0; i < files; i++) {
    Verdict verdict = run_file(ops, argv[1], entries ? entries[i]->d_name : argv[2 + i]);
    bad += verdict == VERDICT_BAD;
    good += verdict == VERDICT_OK;
    if (entries) free(entries[i]);
  }
  free(entries);
  printf("%d files ok, %d not ok, %d not compared here\n", good, bad, files - good - bad);
  ops_destroy(&ops);
  return bad ? CORE_FAIL : CORE_OK;
}
