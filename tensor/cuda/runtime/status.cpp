#include <minnow/tensor/cuda/runtime/status.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <pthread.h>
#include <string>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/cuda/memory/memory_pool.h>
#include <minnow/tensor/cuda/runtime/context.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/runtime/capture_rules.h>
#include <minnow/tensor/text.h>

namespace minnow::cuda {
namespace {

std::atomic<bool> forked = false;
thread_local int selected = -1;

/// The failure of each device.
struct Failures {
  std::array<std::atomic<bool>, kMaxDevices> failed = {};
  std::mutex mutex;
  std::array<std::string, kMaxDevices> cause;
};

Failures& failures() {
  static auto* instance = new Failures();  // never destroyed: globals may be destroyed later
  return *instance;
}

/// The latest operations of this thread on devices.
struct Recent {
  static constexpr std::size_t kCount = 8;
  struct Operation {
    char name[48] = "";
    SourceLocation where;
  };
  std::array<Operation, kCount> operations;
  std::size_t given = 0;
};
thread_local Recent recent;

std::string recent_operations() {
  std::string text;
  for (std::size_t i = 1; i <= std::min(recent.given, Recent::kCount); ++i) {
    const Recent::Operation& op = recent.operations[(recent.given - i) % Recent::kCount];
    text += (i == 1 ? "" : ", ") + std::string(op.name);
    if (op.where.line != 0) text += " (" + file_and_line(op.where) + ")";
  }
  return text;
}

std::string cause_of(int device) {
  const std::lock_guard lock(failures().mutex);
  return failures().cause[static_cast<std::size_t>(device)];
}

/// After these errors every further call of the process fails in the same way.
bool is_sticky(cudaError_t status) {
  switch (status) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContextIsDestroyed:
    case cudaErrorExternalDevice:
    case cudaErrorUnknown: return true;
    default: return false;
  }
}

/// The open operation, or `method`.
std::string operation_or(const char* method) {
  const std::string_view operation = CallSite::op();
  return std::string(operation.empty() ? method : operation);
}

std::string quoted(const std::string& cause) {
  std::string text = "\n  ";
  for (const char c : cause) text += c == '\n' ? "\n  " : std::string(1, c);
  return text;
}

}  // namespace

void failed(cudaError_t status, const char* called) {
  cudaGetLastError();  // so that the next launch does not report it again
  const std::string operation = operation_or("");
  std::string text = (operation.empty() ? "" : operation + ": ") + called + ": " + cudaGetErrorName(status) + ": " +
                     cudaGetErrorString(status);
  const SourceLocation where = CallSite::where();
  if (status == cudaErrorMemoryAllocation) throw OutOfMemoryError(text, where);
  const int device = selected;
  if (device < 0) throw BackendError(text, where);
  text += "\n  on " + Device(DeviceType::cuda, device).str();
  auto& all = failures();
  if (all.failed[static_cast<std::size_t>(device)].load()) {
    text += ", which failed before:" + quoted(cause_of(device));
  } else if (is_sticky(status)) {
    if (!debug())
      text += "\n  one of the operations before it failed, latest first: " + recent_operations() +
              "\nrun with MINNOW_CUDA_DEBUG=1 to see which";
    const std::lock_guard lock(all.mutex);
    all.cause[static_cast<std::size_t>(device)] = BackendError(text, where).what();
    all.failed[static_cast<std::size_t>(device)].store(true);
  }
  throw BackendError(text, where);
}

void select(int device) {
  int now = -1;
  if (selected == device && cudaGetDevice(&now) == cudaSuccess && now == device) return;
  selected = device;  // failures belong to this device
  check(cudaSetDevice(device), "cudaSetDevice");
}

bool is_usable(int device) noexcept {
  return !forked.load(std::memory_order_relaxed) &&
         !failures().failed[static_cast<std::size_t>(device)].load(std::memory_order_relaxed);
}

void require_usable(int device, const char* operation) {
  if (is_usable(device)) return;
  const std::string name = operation_or(operation);
  const SourceLocation where = CallSite::where();
  if (forked.load())
    throw BackendError(name +
                           ": this process was forked from one that used CUDA, which cannot be used here\n"
                           "fork before the first use of CUDA, or start a new process (exec)",
                       where);
  throw BackendError(name + ": " + Device(DeviceType::cuda, device).str() +
                         " cannot be used any more, because it failed:" + quoted(cause_of(device)) +
                         "\nstart the program again",
                     where);
}

void refuse_in_capture(const char* operation) {
  if (capturing()) forbid_in_capture(operation, CallSite::where());
}

void remember_operation(const char* name) {
  Recent::Operation& op = recent.operations[recent.given++ % Recent::kCount];
  op.name[std::string_view(name).copy(op.name, sizeof op.name - 1)] = '\0';
  op.where = CallSite::where();
}

void note_use() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { forked.store(true); }); });
}

}  // namespace minnow::cuda
