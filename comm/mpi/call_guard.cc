#include "comm/mpi/call_guard.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace dtnn {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLook(50), kAtLeast(2000);
// A call that lasts so long may be given up after an interruption.
constexpr milliseconds kSlow(200);

// Where a thread inside a guarded call goes on when it is called back.
thread_local sigjmp_buf* volatile way_out = nullptr;

void CallBack(int) {
  if (way_out != nullptr) siglongjmp(*way_out, 1);
}

pid_t ThisThread() {
  thread_local const pid_t id = pid_t(syscall(SYS_gettid));
  return id;
}

}  // namespace

CallGuard::CallGuard() {
  struct sigaction action = {};
  action.sa_handler = CallBack;
  action.sa_flags = SA_RESTART | SA_NODEFER | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGURG, &action, nullptr);
  thread_ = std::thread([this] { Run(); });
}

CallGuard::~CallGuard() {
  {
    std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void CallGuard::Enter(sigjmp_buf* frame) {
  caller_.store(ThisThread(), std::memory_order_relaxed);
  entries_.store(entries_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  way_out = frame;
}

void CallGuard::Leave() {
  way_out = nullptr;
  entries_.store(entries_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

int CallGuard::Call(absl::FunctionRef<int()> call) {
  sigjmp_buf frame;
  if (sigsetjmp(frame, 0) != 0) {
    Leave();
    return kMpiStuck;
  }
  Enter(&frame);
  // Asked inside: a signal that came before was for nothing, but is seen here.
  const int code = stuck() ? kMpiStuck : call();
  Leave();
  return code;
}

bool CallGuard::TooLong(milliseconds inside, milliseconds more) {
  std::lock_guard lock(mutex_);
  bool result = false;
  for (auto& [watch, watched] : watched_) {
    const bool interrupted =
        inside >= kSlow && watched.options->interrupted && watched.options->interrupted();
    watched.interrupted_for = interrupted ? watched.interrupted_for + more : milliseconds(0);
    result |= inside >= watched.limit ||
              (interrupted && watched.interrupted_for >= watched.options->grace);
  }
  return result;
}

void CallGuard::Run() {
  using Clock = std::chrono::steady_clock;
  uint64_t seen = 0;
  milliseconds inside(0);
  Clock::time_point last = Clock::now();
  while (true) {
    {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, kLook, [this] { return over_; })) return;
    }
    const Clock::time_point now = Clock::now();
    const milliseconds more =
        std::min(std::chrono::duration_cast<milliseconds>(now - last), 2 * kLook);
    last = now;
    const uint64_t entries = entries_.load(std::memory_order_acquire);
    const bool same = entries % 2 == 1 && entries == seen;
    seen = entries;
    inside = same ? inside + more : milliseconds(0);
    if (!same || !TooLong(inside, more)) continue;
    stuck_.store(true);
    syscall(SYS_tgkill, getpid(), caller_.load(std::memory_order_relaxed), SIGURG);
  }
}

CallGuard::Watch::Watch(CallGuard& guard, const CommunicatorOptions& options, milliseconds timeout)
    : guard_(guard) {
  std::lock_guard lock(guard.mutex_);
  guard.watched_[this] = {.options = &options,
                          .limit = std::max(timeout / 2, std::min(timeout, kAtLeast))};
}

CallGuard::Watch::~Watch() {
  std::lock_guard lock(guard_.mutex_);
  guard_.watched_.erase(this);
}

}  // namespace dtnn
