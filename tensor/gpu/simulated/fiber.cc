#include "tensor/gpu/simulated/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace dtnn::gpu {
namespace {

constexpr size_t kStackBytes = 64 << 10;

size_t PageBytes() { return size_t(sysconf(_SC_PAGESIZE)); }

}  // namespace

Fiber::Fiber() {
  memory_ = mmap(nullptr, PageBytes() + kStackBytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory_ == MAP_FAILED) throw std::bad_alloc();
  mprotect(memory_, PageBytes(), PROT_NONE);
  stack_ = static_cast<std::byte*>(memory_) + PageBytes();
#if defined(__SANITIZE_THREAD__)
  tsan_fiber_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
#if defined(__SANITIZE_THREAD__)
  __tsan_destroy_fiber(tsan_fiber_);
#endif
  munmap(memory_, PageBytes() + kStackBytes);
}

void Fiber::Start(void (*entry)(void*), void* argument) {
  entry_ = entry;
  argument_ = argument;
  ended_ = false;
  fake_stack_ = nullptr;
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack_;
  context_.uc_stack.ss_size = kStackBytes;
  context_.uc_link = nullptr;
  // makecontext passes ints.
  const uint64_t self = reinterpret_cast<uintptr_t>(this);
  makecontext(&context_, reinterpret_cast<void (*)()>(&Fiber::Enter), 2, unsigned(self >> 32),
              unsigned(self));
}

void Fiber::Enter(unsigned high, unsigned low) {
  Fiber* const self = reinterpret_cast<Fiber*>(uint64_t{high} << 32 | low);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &self->owner_stack_, &self->owner_stack_bytes_);
#endif
  self->entry_(self->argument_);
  self->SwitchOut(/*ended=*/true);
}

bool Fiber::Resume() {
  SwitchIn();
  return !ended_;
}

void Fiber::Yield() { SwitchOut(/*ended=*/false); }

void Fiber::SwitchIn() {
#if defined(__SANITIZE_ADDRESS__)
  void* owner_fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&owner_fake_stack, stack_, kStackBytes);
  swapcontext(&owner_, &context_);
  __sanitizer_finish_switch_fiber(owner_fake_stack, nullptr, nullptr);
#elif defined(__SANITIZE_THREAD__)
  tsan_owner_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(tsan_fiber_, 0);
  swapcontext(&owner_, &context_);
#else
  swapcontext(&owner_, &context_);
#endif
}

void Fiber::SwitchOut(bool ended) {
  ended_ = ended;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(ended ? nullptr : &fake_stack_, owner_stack_, owner_stack_bytes_);
  swapcontext(&context_, &owner_);
  __sanitizer_finish_switch_fiber(fake_stack_, &owner_stack_, &owner_stack_bytes_);
#elif defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(tsan_owner_, 0);
  swapcontext(&context_, &owner_);
#else
  swapcontext(&context_, &owner_);
#endif
}

}  // namespace dtnn::gpu
