#include "tensor/gpu/simulated/faults.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

#include "tensor/errors.h"
#include "tensor/text/counted.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace dtnn::gpu {
namespace {

// Held for a moment, by threads that do not fault meanwhile: a handler can wait for it.
class SpinLock {
 public:
  void lock() {
    while (held_.test_and_set(std::memory_order_acquire)) {
    }
  }
  void unlock() { held_.clear(std::memory_order_release); }

 private:
  std::atomic_flag held_;
};

struct Known {
  const Mapping* mapping;
  std::string what, reason;
};

struct Registry {
  SpinLock lock;
  std::map<const std::byte*, Known> by_region;
  struct sigaction former = {};

  const Known* Find(const void* address) const {
    auto found = by_region.upper_bound(static_cast<const std::byte*>(address));
    if (found == by_region.begin()) return nullptr;
    const Known& known = (--found)->second;
    return address < known.mapping->region() + known.mapping->region_bytes() ? &known : nullptr;
  }
};

struct Fault {
  const void* address = nullptr;
  bool write = false;
};

thread_local FaultGuard* active_guard = nullptr;
thread_local Fault last_fault;

void HandleFault(int signal, siginfo_t* info, void* context);

// Never destroyed: a fault may come at any time.
Registry& TheRegistry() {
  static Registry* const registry = [] {
    auto* made = new Registry();
    struct sigaction action = {};
    action.sa_sigaction = HandleFault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, &made->former);
    return made;
  }();
  return *registry;
}

struct Place {
  std::string text;  // byte 7 of 4096 bytes of device memory for ...; "" outside all mappings
  std::string reason;
};

Place PlaceOf(const void* address) {
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.lock);
  const Known* const known = registry.Find(address);
  if (known == nullptr) return {};
  const std::ptrdiff_t offset = known->mapping->OffsetOf(address);
  const std::ptrdiff_t size = std::ptrdiff_t(known->mapping->bytes());
  if (offset < 0) return {StrCat(Counted(-offset, "byte"), " before ", known->what), known->reason};
  if (offset < size) return {StrCat("byte ", offset, " of ", known->what), known->reason};
  return {StrCat("byte ", offset - size, " after the end of ", known->what), known->reason};
}

// Where a thread continues after a fault: outside of the handler, so that it may do anything.
[[noreturn]] void AfterFault() {
  if (active_guard != nullptr) active_guard->Leave();
  const Place place = PlaceOf(last_fault.address);
  const std::string report = StrCat(
      "simulated GPU: the host ", last_fault.write ? "writes " : "reads ", place.text, ": ",
      place.reason.empty() ? "host code has no access to it; copy it first" : place.reason, "\n");
  (void)!write(STDERR_FILENO, report.data(), report.size());
  std::abort();
}

// Whether an access was a write; and has the thread call AfterFault where it stands.
#if defined(__x86_64__)
bool IsWrite(const mcontext_t& context) { return (context.gregs[REG_ERR] & 2) != 0; }

void Divert(mcontext_t& context) {
  constexpr int64_t kRedZone = 128;
  int64_t stack = (context.gregs[REG_RSP] - kRedZone) & ~int64_t{15};
  stack -= sizeof(int64_t);  // a return address, for debuggers
  *reinterpret_cast<int64_t*>(stack) = context.gregs[REG_RIP];
  context.gregs[REG_RSP] = stack;
  context.gregs[REG_RIP] = reinterpret_cast<int64_t>(&AfterFault);
}
#elif defined(__aarch64__)
bool IsWrite(const mcontext_t&) { return false; }  // the system does not say

void Divert(mcontext_t& context) {
  context.regs[30] = context.pc;
  context.sp &= ~uint64_t{15};
  context.pc = reinterpret_cast<uint64_t>(&AfterFault);
}
#else
bool IsWrite(const mcontext_t&) { return false; }
void Divert(mcontext_t&) { AfterFault(); }  // inside the handler, for want of better
#endif

void HandleFault(int signal, siginfo_t* info, void* context) {
  mcontext_t& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
  Registry& registry = TheRegistry();
  registry.lock.lock();
  const bool known = registry.Find(info->si_addr) != nullptr;
  registry.lock.unlock();
  if (known || active_guard != nullptr) {
    last_fault = {info->si_addr, IsWrite(machine)};
    Divert(machine);
  } else {
    // The instruction is tried again, and fails for the former handler.
    sigaction(signal, &registry.former, nullptr);
  }
}

}  // namespace

void RegisterMapping(const Mapping* mapping, std::string what) {
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.lock);
  registry.by_region[mapping->region()] = {mapping, std::move(what), ""};
}

void SetReason(const Mapping* mapping, std::string reason) {
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.lock);
  registry.by_region[mapping->region()].reason.swap(reason);
}

void UnregisterMapping(const Mapping* mapping) {
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.lock);
  registry.by_region.erase(mapping->region());
}

void FaultGuard::Activate() { active_guard = this; }

void FaultGuard::Leave() {
  left_ = true;
  active_guard = nullptr;
#if defined(__SANITIZE_ADDRESS__)
  __asan_handle_no_return();
#endif
  setcontext(&exit_);
  std::abort();
}

std::string FaultGuard::Run(void (*run)(void*), void* argument) {
  left_ = false;
  last_fault = {};
  getcontext(&exit_);
  if (!left_) {
    Activate();
    run(argument);
    active_guard = nullptr;
    return "";
  }
  const Place place = PlaceOf(last_fault.address);
  const char* const verb = last_fault.write ? "writes " : "reads ";
  if (place.text.empty()) return StrCat(verb, "memory that is not the GPU's");
  return StrCat(verb, place.text, ", which it did not declare");
}

}  // namespace dtnn::gpu
