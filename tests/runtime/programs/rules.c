/* Checks that the stand-in for the CUDA runtime enforces CUDA's rules: each violation must be rejected. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <cuda_runtime_api.h>

#include "core/device/device.h"
#include "sim/device/kernels.h"
#include "trainer/ops/kernels/kernels.h"

enum { BYTES = 1024 };

static cudaStream_t first, second;
static cudaEvent_t event;
static unsigned char *x, *y;

#define OK(call) assert_int_equal(call, cudaSuccess)

static int set_up(void **state) {
  (void)state;
  OK(cudaSetDevice(0));
  OK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  OK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  OK(cudaMalloc((void **)&x, BYTES));
  OK(cudaMalloc((void **)&y, BYTES));
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  OK(cudaStreamDestroy(first));
  OK(cudaStreamDestroy(second));
  OK(cudaEventDestroy(event));
  OK(cudaFree(x));
  OK(cudaFree(y));
  return 0;
}

static int first_of(const unsigned char *memory) {
  unsigned char byte;
  OK(cudaMemcpyAsync(&byte, memory, 1, cudaMemcpyDeviceToHost, first));
  return byte;
}

static void begin(void) { OK(cudaStreamBeginCapture(first, cudaStreamCaptureModeRelaxed)); }
static cudaError_t end(void) {
  cudaGraph_t graph;
  const cudaError_t code = cudaStreamEndCapture(first, &graph);
  if (code == cudaSuccess) OK(cudaGraphDestroy(graph));
  return code;
}
static void fork_to_second(void) {
  OK(cudaEventRecord(event, first));
  OK(cudaStreamWaitEvent(second, event, 0));
}
static void join_second(void) {
  OK(cudaEventRecord(event, second));
  OK(cudaStreamWaitEvent(first, event, 0));
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

/* Operations of another stream are not executed until it is waited for. */
static void test_streams_lag(void **state) {
  (void)state;
  OK(cudaMemsetAsync(x, 1, BYTES, first));
  OK(cudaStreamSynchronize(first));
  OK(cudaMemsetAsync(x, 2, BYTES, second));
  assert_int_equal(first_of(x), 1);
  join_second();
  assert_int_equal(first_of(x), 2);
}

/* A wait refers to the record at the time of the call, even if the event is recorded again. */
static void test_events_are_recorded_again(void **state) {
  (void)state;
  OK(cudaMemsetAsync(x, 3, BYTES, second));
  join_second();
  OK(cudaMemsetAsync(x, 4, BYTES, second));
  OK(cudaEventRecord(event, second));
  assert_int_equal(first_of(x), 3);
  OK(cudaStreamWaitEvent(first, event, 0));
  assert_int_equal(first_of(x), 4);
}

/* Events have times once a stream has reached them, and only if created with timing. */
static void test_times(void **state) {
  cudaEvent_t from, to;
  float milliseconds = -1;
  (void)state;
  OK(cudaEventCreateWithFlags(&from, cudaEventDefault));
  OK(cudaEventCreateWithFlags(&to, cudaEventDefault));
  assert_int_equal(cudaEventElapsedTime(&milliseconds, from, to), cudaErrorInvalidResourceHandle);
  OK(cudaEventRecord(from, first));
  OK(cudaMemsetAsync(x, 1, BYTES, first));
  OK(cudaEventRecord(to, first));
  assert_int_equal(cudaEventElapsedTime(&milliseconds, from, to), cudaErrorNotReady);
  OK(cudaEventSynchronize(to));
  OK(cudaEventElapsedTime(&milliseconds, from, to));
  assert_true(milliseconds >= 0);
  OK(cudaEventRecord(event, first)); /* created without timing */
  OK(cudaEventSynchronize(event));
  assert_int_equal(cudaEventElapsedTime(&milliseconds, from, event), cudaErrorInvalidResourceHandle);
  begin();
  OK(cudaEventRecord(to, first));
  assert_int_equal(cudaEventSynchronize(to), cudaErrorCapturedEvent);
  assert_int_equal(end(), cudaErrorStreamCaptureInvalidated);
  OK(cudaEventDestroy(from));
  OK(cudaEventDestroy(to));
}

/* The later captured of two unordered nodes runs first. */
static void test_nodes_lag(void **state) {
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  (void)state;
  for (int ordered = 0; ordered < 2; ordered++) {
    begin();
    fork_to_second();
    OK(cudaMemsetAsync(x, 5, BYTES, second));
    if (ordered) join_second();
    OK(cudaMemsetAsync(x, 6, BYTES, first));
    join_second();
    OK(cudaStreamEndCapture(first, &graph));
    OK(cudaGraphInstantiate(&ready, graph, 0));
    OK(cudaGraphDestroy(graph));
    for (int times = 0; times < 2; times++) {
      OK(cudaGraphLaunch(ready, first));
      assert_int_equal(first_of(x), ordered ? 6 : 5);
    }
    OK(cudaGraphExecDestroy(ready));
  }
}

static void add_one(void *byte) { (*(unsigned char *)byte)++; }

/* Copies of page-locked memory and host functions run in stream order, and can be captured. */
static void test_page_locked(void **state) {
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  unsigned char *pinned;
  (void)state;

  OK(cudaHostAlloc((void **)&pinned, BYTES, cudaHostAllocDefault));
  OK(cudaMemsetAsync(x, 5, BYTES, first));
  OK(cudaStreamSynchronize(first));

  for (int recorded = 0; recorded < 2; recorded++) {
    memset(pinned, 1, BYTES);
    if (recorded) begin();
    OK(cudaMemcpyAsync(pinned, x, BYTES, cudaMemcpyDeviceToHost, first));
    OK(cudaLaunchHostFunc(first, add_one, pinned));
    OK(cudaMemcpyAsync(y, pinned, BYTES, cudaMemcpyHostToDevice, first));

    if (recorded) {
      OK(cudaStreamEndCapture(first, &graph));
      OK(cudaGraphInstantiate(&ready, graph, 0));
      OK(cudaGraphDestroy(graph));
      OK(cudaGraphLaunch(ready, first));
      OK(cudaGraphExecDestroy(ready));
    }

    assert_int_equal(pinned[0], 1);
    assert_int_equal(first_of(y), 6);
    assert_int_equal(pinned[0], 6);
  }

  OK(cudaFreeHost(pinned));
  assert_int_equal(cudaFreeHost(pinned), cudaErrorInvalidValue);
}

/* ---- capture ----------------------------------------------------------------------------------------------------- */

static void test_waiting_invalidates_a_capture(void **state) {
  unsigned char byte = 0;
  (void)state;
  begin();
  assert_int_equal(cudaStreamSynchronize(first), cudaErrorStreamCaptureUnsupported);
  assert_int_equal(cudaMemsetAsync(x, 1, BYTES, first), cudaErrorStreamCaptureInvalidated);
  assert_int_equal(end(), cudaErrorStreamCaptureInvalidated);
  begin();
  assert_int_equal(cudaMemcpyAsync(&byte, x, 1, cudaMemcpyDeviceToHost, first), cudaErrorStreamCaptureUnsupported);
  assert_int_equal(end(), cudaErrorStreamCaptureInvalidated);
  begin();
  assert_int_equal(cudaMemcpyAsync(x, &byte, 1, cudaMemcpyHostToDevice, first), cudaErrorStreamCaptureUnsupported);
  assert_int_equal(end(), cudaErrorStreamCaptureInvalidated);
  begin();
  assert_int_equal(cudaStreamQuery(first), cudaErrorStreamCaptureUnsupported);
  assert_int_equal(end(), cudaErrorStreamCaptureInvalidated);
}

static void test_forks_must_be_joined(void **state) {
  (void)state;
  for (int joined = 0; joined < 2; joined++) {
    begin();
    fork_to_second();
    OK(cudaMemsetAsync(x, 1, BYTES, second));
    if (joined) join_second();
    assert_int_equal(end(), joined ? cudaSuccess : cudaErrorStreamCaptureUnjoined);
  }
}

static void test_captures_are_isolated(void **state) {
  cudaGraph_t graph;
  (void)state;
  OK(cudaEventRecord(event, second));
  begin();
  assert_int_equal(cudaStreamWaitEvent(first, event, 0), cudaErrorStreamCaptureIsolation);
  assert_int_equal(end(), cudaErrorStreamCaptureInvalidated);
  begin();
  OK(cudaStreamBeginCapture(second, cudaStreamCaptureModeRelaxed));
  OK(cudaEventRecord(event, first));
  assert_int_equal(cudaStreamWaitEvent(second, event, 0), cudaErrorStreamCaptureMerge);
  assert_int_equal(cudaStreamEndCapture(second, &graph), cudaErrorStreamCaptureInvalidated);
  OK(end());
  begin();
  fork_to_second();
  assert_int_equal(cudaStreamEndCapture(second, &graph), cudaErrorStreamCaptureUnmatched);
  assert_int_equal(end(), cudaErrorStreamCaptureInvalidated);
  assert_int_equal(end(), cudaErrorIllegalState);
}

static void test_modes(void **state) {
  void *memory;
  (void)state;
  begin();
  OK(cudaMalloc(&memory, BYTES));
  OK(cudaFree(memory));
  OK(end());
  OK(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
  assert_int_equal(cudaMalloc(&memory, BYTES), cudaErrorStreamCaptureUnsupported);
  assert_int_equal(end(), cudaErrorStreamCaptureInvalidated);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void test_memory(void **state) {
  unsigned char host[BYTES] = {0};
  void *memory, *too_large;
  (void)state;
  OK(cudaMalloc(&memory, BYTES));
  assert_int_equal(cudaFree((char *)memory + 256), cudaErrorInvalidValue);
  OK(cudaFree(memory));
  assert_int_equal(cudaFree(memory), cudaErrorInvalidValue);
  assert_int_equal(cudaMemsetAsync(memory, 0, BYTES, first), cudaErrorInvalidValue);
  assert_int_equal(cudaMemsetAsync(x, 0, BYTES + 1, first), cudaErrorInvalidValue);
  assert_int_equal(cudaMemcpyAsync(x, host, BYTES, cudaMemcpyDeviceToDevice, first), cudaErrorInvalidValue);
  assert_int_equal(cudaMemcpyAsync(x, y, BYTES, cudaMemcpyHostToDevice, first), cudaErrorInvalidValue);
  assert_int_equal(cudaMalloc(&too_large, (size_t)1 << 40), cudaErrorMemoryAllocation);
  assert_int_equal(cudaGetLastError(), cudaErrorMemoryAllocation);
  OK(cudaGetLastError());
}

/* Host code that reads device memory faults. */
static void test_host_access_faults(void **state) {
  int status = 0;
  (void)state;
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    const unsigned char byte = *(volatile unsigned char *)x;
    _exit(byte & 1);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

static cudaError_t launch(const CoreKernel *kernel, unsigned blocks, unsigned threads, size_t shared) {
  static unsigned char arguments[4096];
  void *parameters[] = {arguments};
  const cudaError_t code =
      cudaLaunchKernel(kernel->entry(), (dim3){blocks, 1, 1}, (dim3){threads, 1, 1}, parameters, shared, first);
  return code;
}

static void test_launches(void **state) {
  const void *entry = ops_add_launch.entry();
  (void)state;
  OK(launch(&ops_add_launch, 1, 32, 48 * 1024)); /* no elements */
  assert_int_equal(launch(&ops_add_launch, 0, 32, 0), cudaErrorInvalidConfiguration);
  assert_int_equal(launch(&ops_add_launch, 1, 1025, 0), cudaErrorInvalidConfiguration);
  assert_int_equal(launch(&ops_add_launch, 1, 32, 48 * 1024 + 1), cudaErrorInvalidValue);
  OK(cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024));
  OK(launch(&ops_add_launch, 1, 32, 227 * 1024));
  assert_int_equal(cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024 + 1),
                   cudaErrorInvalidValue);
  assert_int_equal(cudaLaunchKernel(x, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, first),
                   cudaErrorInvalidDeviceFunction);
}

/* Generating a level takes 168 registers per thread, by ptxas (its report is set in tests/runtime/test_runtime.sh). */
static void test_registers(void **state) {
  struct cudaFuncAttributes attributes;
  (void)state;
  OK(cudaFuncGetAttributes(&attributes, sim_restore_launch.entry()));
  if (getenv("RUNTIME_PTXAS") == NULL) skip();
  assert_in_range(attributes.numRegs, 65, 255);
  assert_int_equal(launch(&sim_restore_launch, 1, 1024, 0), cudaErrorLaunchOutOfResources);
  assert_true(attributes.localSizeBytes > 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {TEST(test_streams_lag),
                                     TEST(test_events_are_recorded_again),
                                     TEST(test_times),
                                     TEST(test_nodes_lag),
                                     TEST(test_page_locked),
                                     TEST(test_waiting_invalidates_a_capture),
                                     TEST(test_forks_must_be_joined),
                                     TEST(test_captures_are_isolated),
                                     TEST(test_modes),
                                     TEST(test_memory),
                                     TEST(test_host_access_faults),
                                     TEST(test_launches),
                                     TEST(test_registers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
