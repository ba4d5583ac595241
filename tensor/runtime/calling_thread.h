#pragma once

#include <minnow/tensor/device.h>
#include <minnow/tensor/dtype.h>

namespace minnow {
class RandomGenerator;
}

namespace minnow::detail {

class CallSite;
class CallObserver;
class ScopeObserver;
class CaptureSession;
struct CaptureRules;

/// What the Autocast guards of a thread have set (autograd/autocast.h).
struct AutocastMode {
  bool enabled = false;
  bool caches = true;  ///< casts of parameters
  bool forced = false;
  DType dtype = DType::bfloat16;

  friend bool operator==(const AutocastMode& a, const AutocastMode& b) {
    return a.enabled == b.enabled && (!a.enabled || (a.dtype == b.dtype && a.forced == b.forced));
  }
};

/// What the tensor part keeps for each thread.
struct CallingThread {
  const CallSite* site = nullptr;     ///< the one that counts: a site inside of another operation does not replace it
  CallObserver* observer = nullptr;   ///< told of each operation
  CaptureSession* capture = nullptr;  ///< the running capture
  const CaptureRules* capture_rules = nullptr;
  RandomGenerator* generator = nullptr;  ///< replaces the default generator
  int device_index[kDeviceTypes] = {};   ///< the current device of each type
  int serial_regions = 0;                ///< how many are open (SerialRegion)
  AutocastMode autocast{};
  bool detects_anomaly = false;     ///< gradients are checked, for which a CapturedStep runs directly
  bool checks_forward = false;      ///< and results (AnomalyOptions)
  ScopeObserver* scopes = nullptr;  ///< told of modules and other coarse parts
};
extern constinit thread_local CallingThread calling_thread;

}  // namespace minnow::detail
