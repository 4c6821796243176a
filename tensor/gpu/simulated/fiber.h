// A function with a stack of its own that can stop in the middle and continue later: so one
// thread runs the threads of a GPU's block in turns. Sanitizers learn of every switch.

#ifndef DTNN_TENSOR_GPU_SIMULATED_FIBER_H_
#define DTNN_TENSOR_GPU_SIMULATED_FIBER_H_

#include <ucontext.h>

#include <cstddef>

namespace dtnn::gpu {

class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Prepares a call of entry(argument). One that has not ended is given up where it stands.
  void Start(void (*entry)(void*), void* argument);
  // Runs until the next Yield or the end; false once it has ended.
  bool Resume();
  // Called on the fiber's stack: back to the caller of Resume.
  void Yield();

 private:
  static void Enter(unsigned high, unsigned low);
  void SwitchIn();
  void SwitchOut(bool ended);

  void* memory_;  // a page without access, then the stack
  std::byte* stack_;
  ucontext_t context_, owner_;
  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
  bool ended_ = true;
  // For the address sanitizer and the thread sanitizer; null without them.
  [[maybe_unused]] void* fake_stack_ = nullptr;
  [[maybe_unused]] const void* owner_stack_ = nullptr;
  [[maybe_unused]] size_t owner_stack_bytes_ = 0;
  [[maybe_unused]] void* tsan_fiber_ = nullptr;
  [[maybe_unused]] void* tsan_owner_ = nullptr;
};

}  // namespace dtnn::gpu

#endif  // DTNN_TENSOR_GPU_SIMULATED_FIBER_H_
