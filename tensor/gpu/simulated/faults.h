// What happens when memory is touched that may not be: by the host, a report on stderr that names
// the memory, and the end of the process; by a kernel, an error that its stream tells.
//
// Mappings are registered here, and a handler of SIGSEGV looks up the address. Faults elsewhere go
// to the handler that was there before.

#ifndef DTNN_TENSOR_GPU_SIMULATED_FAULTS_H_
#define DTNN_TENSOR_GPU_SIMULATED_FAULTS_H_

#include <ucontext.h>

#include <string>

#include "tensor/gpu/simulated/mapping.h"

namespace dtnn::gpu {

// `what`: 4096 bytes of device memory for "activations" of simulated:0.
void RegisterMapping(const Mapping* mapping, std::string what);
// Why the host may not touch it now; "" for the reason that it never may.
void SetReason(const Mapping* mapping, std::string reason);
void UnregisterMapping(const Mapping* mapping);

// Catches the faults of one thread of a kernel, which has nothing to clean up wherever it ends.
class FaultGuard {
 public:
  // Calls run(argument); "" or the fault that ended it. The two stay on one stack.
  std::string Run(void (*run)(void*), void* argument);
  // To be called in `run` when another guard may have been at work in this thread of the host.
  void Activate();
  // Called by the thread itself: leaves `run`, as if it had touched what is not the GPU's.
  [[noreturn]] void Leave();

 private:
  ucontext_t exit_;
  volatile bool left_ = false;
};

}  // namespace dtnn::gpu

#endif  // DTNN_TENSOR_GPU_SIMULATED_FAULTS_H_
