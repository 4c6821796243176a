#include "comm/ranks/mpi/mpi_thread.h"

#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace dtnn {
namespace {

using std::chrono::microseconds;

// Between two looks while something is on its way and nobody waits.
constexpr microseconds kBusyFirst(50), kBusyLast(500);
// While somebody waits: yields for so long since something moved, then sleeps.
constexpr microseconds kYieldFor(5000), kYieldForCrowded(200);
constexpr microseconds kSleepFirst(50), kSleepLast(250), kSleepLong(1000);

}  // namespace

struct MpiThread::State {
  std::mutex mutex;
  std::condition_variable wake, ended;
  std::deque<Task> tasks;
  std::function<Progress()> progress = [] { return Progress::kNothing; };  // the thread's own
  bool crowded = false;
  int waiting = 0;
  Clock::time_point waiting_since;
  bool stop = false, over = false;

  // Gives way between two looks; returns when one is due, or there is a task.
  void Pause(std::unique_lock<std::mutex>& lock, Clock::time_point now, Clock::time_point moved,
             microseconds& pause);
};

void MpiThread::State::Pause(std::unique_lock<std::mutex>& lock, Clock::time_point now,
                             Clock::time_point moved, microseconds& pause) {
  if (waiting == 0) {
    wake.wait_for(lock, pause);
    pause = std::min(2 * pause, kBusyLast);
    return;
  }
  const Clock::duration waited = now - std::max(moved, waiting_since);
  if (waited < (crowded ? kYieldForCrowded : kYieldFor)) {
    lock.unlock();
    sched_yield();
    lock.lock();
  } else if (waited < std::chrono::seconds(1)) {
    const auto some = std::chrono::duration_cast<microseconds>(waited / 32);
    wake.wait_for(lock, std::clamp(some, kSleepFirst, kSleepLast));
  } else {
    wake.wait_for(lock, kSleepLong);
  }
}

void MpiThread::Run(const std::shared_ptr<State>& state) {
  prctl(PR_SET_TIMERSLACK, 1000);  // nanoseconds: the default would double our short sleeps
  State& s = *state;
  std::unique_lock lock(s.mutex);
  Clock::time_point moved = Clock::now();
  microseconds pause = kBusyFirst;
  while (true) {
    while (!s.tasks.empty()) {
      const Task task = std::move(s.tasks.front());
      s.tasks.pop_front();
      lock.unlock();
      task();
      lock.lock();
      moved = Clock::now();
      pause = kBusyFirst;
    }
    if (s.stop) break;
    lock.unlock();
    const Progress progress = s.progress();
    const Clock::time_point now = Clock::now();
    lock.lock();
    if (!s.tasks.empty() || s.stop) continue;
    if (progress == Progress::kMoved) {
      moved = now;
      pause = kBusyFirst;
    }
    if (progress == Progress::kNothing) {
      s.wake.wait(lock, [&s] { return !s.tasks.empty() || s.stop; });
    } else {
      s.Pause(lock, now, moved, pause);
    }
  }
  s.over = true;
  s.ended.notify_all();
}

MpiThread::MpiThread()
    : state_(std::make_shared<State>()), thread_([state = state_] { Run(state); }) {}

MpiThread::~MpiThread() {
  if (thread_.joinable()) thread_.detach();
}

void MpiThread::Post(Task task) {
  std::lock_guard lock(state_->mutex);
  state_->tasks.push_back(std::move(task));
  state_->wake.notify_one();
}

void MpiThread::set_progress(std::function<Progress()> progress) {
  Post([state = state_.get(), progress = std::move(progress)] { state->progress = progress; });
}

void MpiThread::set_crowded(bool crowded) {
  std::lock_guard lock(state_->mutex);
  state_->crowded = crowded;
}

void MpiThread::SetWaiting(bool waits) {
  State& state = *state_;
  std::lock_guard lock(state.mutex);
  if (!waits) {
    --state.waiting;
    return;
  }
  if (state.waiting++ == 0) state.waiting_since = Clock::now();
  state.wake.notify_one();
}

bool MpiThread::Stop(Clock::time_point end) {
  {
    std::unique_lock lock(state_->mutex);
    state_->stop = true;
    state_->wake.notify_one();
    if (!state_->ended.wait_until(lock, end, [this] { return state_->over; })) return false;
  }
  thread_.join();
  return true;
}

}  // namespace dtnn
