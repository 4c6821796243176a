#include "tensor/threads/thread_team.h"

#include <chrono>
#include <exception>

namespace dtnn {
namespace {

constexpr uint32_t kOpen = uint32_t{1} << 31;

// About what waking a thread costs on a virtual machine: spinning longer than that cannot pay.
constexpr std::chrono::microseconds kSpin{50};

// Tells the processor that its thread spins.
void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Waits until `word` is no longer `old`; returns what it is then.
uint32_t WaitWhile(WaitableWord& word, uint32_t old) {
  constexpr int kLooks = 16;  // between two looks at the clock
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < kLooks; ++i) {
      const uint32_t now = word.Load(std::memory_order_acquire);
      if (now != old) return now;
      Pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return word.SleepWhile(old);
}

}  // namespace

ThreadTeam::~ThreadTeam() {
  over_.store(true, std::memory_order_relaxed);
  jobs_.FetchAdd(1);
  jobs_.Wake();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadTeam::StartWorkers(int workers) {
  if (refused_) return;
  try {
    while (int(workers_.size()) < workers) {
      workers_.emplace_back([this, thread = int(workers_.size()) + 1] { RunWorker(thread); });
    }
  } catch (const std::exception&) {  // system_error or bad_alloc
    refused_ = true;
  }
}

void ThreadTeam::Run(int threads, int chunks, absl::FunctionRef<void(int, int, int)> body) {
  if (threads > capacity_) {
    shares_ = std::make_unique<Share[]>(size_t(threads));
    capacity_ = threads;
  }
  for (int share = 0; share < threads; ++share) {
    shares_[size_t(share)].next.store(0, std::memory_order_relaxed);
  }
  StartWorkers(threads - 1);
  job_ = {threads, chunks, &body};
  gate_.Store(kOpen, std::memory_order_release);
  jobs_.FetchAdd(1);
  jobs_.Wake();
  TakeChunks(0);
  uint32_t inside = gate_.FetchAnd(~kOpen) & ~kOpen;
  while (inside != 0) inside = WaitWhile(gate_, inside);
}

void ThreadTeam::RunWorker(int thread) {
  for (uint32_t seen = 0;;) {
    seen = WaitWhile(jobs_, seen);
    if (over_.load(std::memory_order_relaxed)) return;
    if (!Enter(thread)) continue;
    TakeChunks(thread);
    Leave();
  }
}

bool ThreadTeam::Enter(int thread) {
  uint32_t gate = gate_.Load(std::memory_order_relaxed);
  do {
    if ((gate & kOpen) == 0) return false;
  } while (!gate_.CompareExchange(gate, gate + 1));
  if (thread < job_.threads) return true;
  Leave();
  return false;
}

void ThreadTeam::Leave() {
  if (gate_.FetchAdd(~uint32_t{0}) == 1) gate_.Wake();
}

void ThreadTeam::TakeChunks(int thread) {
  const Job& job = job_;
  for (int i = 0; i < job.threads; ++i) {
    const int share = (thread + i) % job.threads;
    std::atomic<int>& next = shares_[size_t(share)].next;
    while (next.load(std::memory_order_relaxed) < job.chunks) {
      const int chunk = next.fetch_add(1, std::memory_order_relaxed);
      if (chunk >= job.chunks) break;
      (*job.body)(thread, share, chunk);
    }
  }
}

}  // namespace dtnn
