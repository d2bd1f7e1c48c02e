/* Reasons of failures: ends of standard error as Python, its launchers and other languages write them. */
#include "test.h"

#include "sweep/program/reason.h"

/* A traceback whose exception follows. */
#define TRACEBACK "Traceback (most recent call last):\n  File \"/home/u/train.py\", line 3, in main\n    train(lr)\n" \
                  "    ^^^^^^^^^\n"
#define LR "ValueError: learning rate must be positive"

typedef struct Case { const char *name, *error, *reason; } Case;

static const Case python[] = {
  {"plain", TRACEBACK LR "\n", LR},
  {"a count", "3 errors found\n", "3 errors found"},
  {"hydra", "Error executing job with overrides: ['lr=-1']\n" TRACEBACK LR "\n\nSet the environment variable "
            "HYDRA_FULL_ERROR=1 for a complete stack trace.\n", LR},
  {"hydra's own", "Could not override 'lr'.\nTo append to your config use +lr=0.1\nKey 'lr' is not in struct\n"
                  "    full_key: lr\n    object_type=dict\n\nSet the environment variable HYDRA_FULL_ERROR=1 for a "
                  "complete stack trace.\n", "Key 'lr' is not in struct"},
  {"wandb", TRACEBACK LR "\nwandb: \nwandb: \xf0\x9f\x9a\x80 View run sunny-1 at: offline\nwandb: Find logs at: "
            "./wandb/offline-run-20240101_000000-abc/logs\n", LR},
  {"jax", TRACEBACK LR "\n--------------------\nFor simplicity, JAX has removed its internal frames from the traceback "
          "of the following exception. Set JAX_TRACEBACK_FILTERING=off to include these.\n", LR},
  {"older jax", TRACEBACK "jax._src.traceback_util.UnfilteredStackTrace: " LR "\n\nThe stack trace below excludes "
                "JAX-internal frames.\nThe preceding is the original exception that occurred, unmodified.\n\n"
                "--------------------\n\nThe above exception was the direct cause of the following exception:\n\n"
                TRACEBACK LR "\n", LR},
  {"torchrun", "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"/home/u/train.py\", line 3, in "
     "<module>\n"
               "[rank0]:     main()\n[rank0]: " LR "\nE1129 10:00:00.123000 139 torch/distributed/elastic/"
               "multiprocessing/api.py:897] failed (exitcode: 1) local_rank: 0 (pid: 7) of binary: /usr/bin/python3\n"
               TRACEBACK "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
               "============================================================\ntrain.py FAILED\n"
               "------------------------------------------------------------\nFailures:\n  <NO_OTHER_FAILURES>\n"
               "------------------------------------------------------------\nRoot Cause (first observed failure):\n"
               "[0]:\n  time      : 2024-01-01_00:00:00\n  exitcode  : 1 (pid: 7)\n  error_file: <N/A>\n"
               "============================================================\n", LR},
  {"a table only", TRACEBACK LR "\n============================================================\ntrain.py FAILED\n"
                   "Root Cause (first observed failure):\n  exitcode  : 1 (pid: 7)\n=========================\n", LR},
  {"accelerate", TRACEBACK LR "\n" TRACEBACK "subprocess.CalledProcessError: Command '['/usr/bin/python3', "
     "'train.py']' "
                 "returned non-zero exit status 1.\n", LR},
  {"multiprocessing", "multiprocessing.pool.RemoteTraceback: \n\"\"\"\n" TRACEBACK LR "\n\"\"\"\n\nThe above exception "
                      "was the direct cause of the following exception:\n\n" TRACEBACK LR "\n"
                      "/usr/lib/python3.11/multiprocessing/resource_tracker.py:224: UserWarning: resource_tracker: "
                      "There appear to be 1 leaked semaphore objects to clean up at shutdown\n  warnings.warn("
                      "'resource_tracker: There appear to be %d '\n", LR},
  {"a worker's", "Process ForkServerProcess-1:\n" TRACEBACK LR "\n" TRACEBACK "EOFError\n", LR},
  {"ray", "\033[36m(train pid=123)\033[0m Traceback (most recent call last):\n\033[36m(train pid=123)\033[0m   File "
          "\"t.py\", line 3, in f\n\033[36m(train pid=123)\033[0m " LR "\n", LR},
  {"srun --label", "3: Traceback (most recent call last):\n3:   File \"t.py\", line 3, in f\n3: " LR "\n"
                   "srun: error: n1: task 3: Exited with exit code 1\n", LR},
  {"mpirun", "[1,0]<stderr>:Traceback (most recent call last):\n[1,0]<stderr>:  File \"t.py\", line 3, in f\n"
             "[1,0]<stderr>:" LR "\n----------------------------------------------------------\nPrimary job  "
             "terminated "
             "normally, but 1 process returned\na non-zero exit code. Per user-direction, the job has been aborted.\n"
             "----------------------------------------------------------\n", LR},
  {"rich", "\xe2\x95\xad\xe2\x94\x80\xe2\x94\x80 Traceback (most recent call last) "
     "\xe2\x94\x80\xe2\x94\x80\xe2\x95\xae\n"
           "\xe2\x94\x82 /home/u/train.py:3 in main \xe2\x94\x82\n\xe2\x94\x82 \xe2\x9d\xb1 3 raise ValueError() "
           "\xe2\x94\x82\n\xe2\x95\xb0\xe2\x94\x80\xe2\x94\x80\xe2\x95\xaf\n" LR "\n", LR},
  {"rich's box", "Usage: train.py [OPTIONS]\n\xe2\x95\xad\xe2\x94\x80 Error \xe2\x94\x80\xe2\x95\xae\n\xe2\x94\x82 "
     "No such "
                 "option: --lr   \xe2\x94\x82\n\xe2\x95\xb0\xe2\x94\x80\xe2\x94\x80\xe2\x95\xaf\n", "No such option: "
                 "--lr"},
  {"colors", "\033[1;31mTraceback (most recent call last)\033[0m:\n  File \033[35m\"t.py\"\033[0m, line 3\n"
             "\033[1;35mValueError\033[0m: \033[35mlearning rate must be positive\033[0m\n", LR},
  {"colors alone", "\033[31mValueError\033[0m: learning rate \033[1mmust\033[0m be positive\033[0m\n", LR},
  {"a bar before", "\r  0%|          | 0/10 [00:00<?, ?it/s]\r 50%|#####     | 5/10 [00:01<00:01, 4.9it/s]" TRACEBACK
                   LR "\n", LR},
  {"a bar after", TRACEBACK LR "\n\r 50%|#####     | 5/10 [00:01<00:01, 4.9it/s]\r\n", LR},
  {"CR LF", "Traceback (most recent call last):\r\n  File \"t.py\", line 3, in f\r\n" LR "\r\n", LR},
  {"shutdown", TRACEBACK LR "\nException ignored in: <function Env.__del__ at 0x7f00>\n" TRACEBACK
               "TypeError: 'NoneType' object is not callable\n", LR},
  {"a group", "  + Exception Group Traceback (most recent call last):\n  |   File \"t.py\", line 3, in <module>\n  | "
     "    "
              "raise ExceptionGroup(\"x\", [ValueError()])\n  | ExceptionGroup: x (1 sub-exception)\n  "
              "+-+----------------"
              " 1 ----------------\n    | " LR "\n    +------------------------------------\n", LR},
  {"a chain", TRACEBACK "KeyError: 'x'\n\nDuring handling of the above exception, another exception occurred:\n\n"
              TRACEBACK LR "\n", LR},
  {"several lines", TRACEBACK "RuntimeError: CUDA error: out of memory\nCUDA kernel errors might be asynchronously "
                    "reported at some other API call.\nCompile with `TORCH_USE_CUDA_DSA`.\n",
   "RuntimeError: CUDA error: out of memory"},
  {"the next line", TRACEBACK "RuntimeError: Error(s) in loading state_dict for Net:\n\tsize mismatch for fc.weight\n",
   "RuntimeError: Error(s) in loading state_dict for Net: size mismatch for fc.weight"},
  {"another name", TRACEBACK "omegaconf.errors.Odd: no key\n    full_key: x\n", "omegaconf.errors.Odd: no key"},
  {"syntax", "  File \"/home/u/train.py\", line 3\n    def f(\n         ^\nSyntaxError: '(' was never closed\n",
   "SyntaxError: '(' was never closed"},
  {"an assertion", "Traceback (most recent call last):\n  File \"/home/u/train.py\", line 3, in main\n    assert lr "
     "> 0\n"
                   "           ^^^^^^\nAssertionError\n", "AssertionError: assert lr > 0"},
  {"without a text", TRACEBACK "NotImplementedError\n", "NotImplementedError: train.py:3, in main"},
  {"interrupted", TRACEBACK "KeyboardInterrupt\n", "KeyboardInterrupt: train.py:3, in main"},
  {"logged", "2024-01-01 10:00:00,123 ERROR no data in /data\n2024-01-01 10:00:01,000 INFO closing\n",
   "ERROR no data in /data"},
  {"logging's", "ERROR:root:no data\nINFO:root:closing\n", "ERROR:root:no data"},
  {"in brackets", "[2024-01-01 10:00:00,123] [ERROR] [launch.py:321:main] no data\n", "[ERROR] [launch.py:321:main] "
     "no data"},
  {"argparse", "usage: train.py [-h] [--lr LR]\ntrain.py: error: argument --lr: invalid float value: 'x'\n",
   "train.py: error: argument --lr: invalid float value: 'x'"},
  {"a warning", "no data\n/home/u/x.py:3: UserWarning: odd\n  warnings.warn('odd')\n", "no data"},
  {"interleaved", "Traceback (most recent call last):\n  File \"t.py\", line 3, in f\n10:00:01 INFO from a thread\n"
     LR "\n", LR},
};

static const Case others[] = {
  {"C++", "step 3\nterminate called after throwing an instance of 'std::runtime_error'\n  what():  learning rate "
     "must be "
          "positive\nAborted (core dumped)\n", "std::runtime_error: learning rate must be positive"},
  {"assert", "train: train.c:3: main: Assertion `lr > 0' failed.\nAborted\n", "train: train.c:3: main: Assertion `lr "
     "> 0' failed."},
  {"heap", "double free or corruption (out)\nAborted (core dumped)\n", "double free or corruption (out)"},
  {"Java", "Exception in thread \"main\" java.lang.IllegalArgumentException: bad rate\n\tat Train.main(Train.java:3)\n",
   "java.lang.IllegalArgumentException: bad rate"},
  {"Java's cause", "Exception in thread \"main\" java.lang.RuntimeException: x\n\tat Train.main(Train.java:3)\n"
     "Caused by: "
                   "java.io.IOException: no data\n\t... 1 more\n", "java.io.IOException: no data"},
  {"Rust", "thread 'main' panicked at src/main.rs:2:5:\nlearning rate must be positive\nnote: run with "
     "`RUST_BACKTRACE=1` "
           "environment variable to display a backtrace\n", "panicked at src/main.rs:2:5: learning rate must be "
           "positive"},
  {"newer Rust", "\nthread 'main' (4711) panicked at src/main.rs:2:5:\nbad rate\nnote: run with `RUST_BACKTRACE=1`\n",
   "panicked at src/main.rs:2:5: bad rate"},
  {"older Rust", "thread 'main' panicked at 'bad rate', src/main.rs:2:5\nnote: run with `RUST_BACKTRACE=1`\n",
   "panicked at 'bad rate', src/main.rs:2:5"},
  {"Go", "panic: bad rate\n\ngoroutine 1 [running]:\nmain.main()\n\t/x.go:4 +0x1d\nexit status 2\n", "panic: bad rate"},
  {"Julia", "ERROR: LoadError: DomainError with -1.0:\nlog was called with a negative argument\nStacktrace:\n [1] "
     "f()\n",
   "ERROR: LoadError: DomainError with -1.0: log was called with a negative argument"},
  {"R", "Error in f(x) : object 'y' not found\nCalls: f\nExecution halted\n", "Error in f(x) : object 'y' not found"},
  {"Node", "/x.js:3\n    throw new TypeError('bad rate')\n    ^\n\nTypeError: bad rate\n    at Object.<anonymous> "
     "(/x.js:3:7)\n\n"
           "Node.js v18.19.0\n", "TypeError: bad rate"},
  {"Ruby", "x.rb:3:in `f': bad rate (ArgumentError)\n\tfrom x.rb:5:in `<main>'\n", "x.rb:3:in `f': bad rate "
     "(ArgumentError)"},
  {"Fortran", "At line 3 of file x.f90\nFortran runtime error: End of file\n\nError termination. Backtrace:\n#0  "
     "0x7f\n",
   "Fortran runtime error: End of file"},
  {"sanitizer", "==123==ERROR: AddressSanitizer: heap-use-after-free on address 0x6020\n    #0 0x4 in main x.c:5\n"
     "SUMMARY: "
                "AddressSanitizer: heap-use-after-free x.c:5 in main\n==123==ABORTING\n",
   "SUMMARY: AddressSanitizer: heap-use-after-free x.c:5 in main"},
  {"faulthandler", "Fatal Python error: Segmentation fault\n\nCurrent thread 0x7f00 (most recent call first):\n  File "
                   "\"t.py\", line 3 in f\n", "Fatal Python error: Segmentation fault"},
  {"a shell", "run.sh: line 3: foo: command not found\n", "run.sh: line 3: foo: command not found"},
  {"a shell's job", "no data\nrun.sh: line 3:   123 Segmentation fault      (core dumped) python3 p.py\n", "no data"},
  {"conda run", "no data\n\nERROR conda.cli.main_run:execute(125): `conda run python p.py` failed. (See above for "
     "error)\n",
   "no data"},
  {"make", "no data\nmake: *** [Makefile:2: train] Error 1\n", "no data"},
  {"setup", "setup: line 1: conda: command not found\nsetup failed with exit code 127\n",
   "setup failed with exit code 127: setup: line 1: conda: command not found"},
  {"nothing", "", ""},
  {"noise alone", "====\n", "===="},
};

static void scan(const char *error, ProgramReason *reason) {
  *reason = (ProgramReason){0};
  while (*error) {
    const size_t length = strcspn(error, "\n");
    program_reason_add(reason, error, length);
    error += length + (error[length] == '\n');
  }
}

static int check(const Case *cases, size_t count) {
  int wrong = 0;
  for (size_t i = 0; i < count; i++) {
    ProgramReason reason;
    scan(cases[i].error, &reason);
    if (strcmp(reason.text, cases[i].reason) == 0) continue;
    print_error("%s: \"%s\" instead of \"%s\"\n", cases[i].name, reason.text, cases[i].reason);
    wrong++;
  }
  return wrong;
}

static void test_python(void **state) { assert_int_equal(check(python, sizeof python / sizeof *python), 0); }
static void test_others(void **state) { assert_int_equal(check(others, sizeof others / sizeof *others), 0); }

/* An exception that the program survived is not the reason of its end hundreds of lines later. */
static void test_age(void **state) {
  ProgramReason reason;
  scan(TRACEBACK "ModuleNotFoundError: No module named 'apex'\n", &reason);
  for (int i = 0; i < 300; i++) program_reason_add(&reason, "step", 4);
  program_reason_add(&reason, "no data", 7);
  assert_string_equal(reason.text, "no data");
}

/* A reason is cut between two characters, and no sequence of bytes is read beyond its end. */
static void test_bytes(void **state) {
  ProgramReason reason = {0};
  char line[4096];
  int used = snprintf(line, sizeof line, "ValueError: ");
  while (used < 3000) used += snprintf(line + used, sizeof line - (size_t)used, "\xc3\xa9");
  program_reason_add(&reason, line, (size_t)used);
  const size_t length = strlen(reason.text);
  assert_in_range(length, PROGRAM_REASON - 3, PROGRAM_REASON - 1);
  assert_int_equal((unsigned char)reason.text[length - 1], 0xa9);

  uint32_t seed = 1;
  static const char bytes[] = "\033[]\r\n\"|+ FileTraceback (most recent call last):=:.1a\xe2\x94\x82\xc2\x9b,line<>";
  for (int i = 0; i < 20000; i++) {
    size_t size = 0;
    for (; size < (size_t)(i % 70); size++) {
      seed = seed * 1664525 + 1013904223;
      line[size] = bytes[(seed >> 8) % (sizeof bytes - 1)];
    }
    program_reason_add(&reason, line, size);
    assert_true(strlen(reason.text) < PROGRAM_REASON);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_python), cmocka_unit_test(test_others),
                                     cmocka_unit_test(test_age), cmocka_unit_test(test_bytes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
