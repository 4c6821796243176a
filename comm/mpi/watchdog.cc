#include "comm/mpi/watchdog.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "comm/mpi/peer_processes.h"
#include "comm/patience.h"

namespace dtnn {

Watchdog::Watchdog(std::string what, const CommunicatorOptions& options, int exit_code)
    : what_(std::move(what)),
      options_(options),
      exit_code_(exit_code),
      thread_([this] { Run(); }) {}

Watchdog::~Watchdog() {
  {
    std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watchdog::Run() {
  using Clock = Patience::Clock;
  Patience patience(options_, options_.timeout, Clock::now());
  std::unique_lock lock(mutex_);
  while (!over_) {
    const Clock::time_point now = Clock::now();
    const Patience::Verdict verdict = patience.Ask(now);
    const std::string waited = ToString(patience.Waited(now));
    const std::string absent = verdict == Patience::Verdict::kGoOn ? "" : DescribeAbsentRanks();
    switch (verdict) {
      case Patience::Verdict::kGoOn:
        changed_.wait_until(lock, patience.Next(now));
        break;
      case Patience::Verdict::kWarn:
        options_.warn(absl::StrCat(what_, " has waited ", waited, " for the other ranks",
                                   absent.empty() ? "" : ": ", absent));
        break;
      case Patience::Verdict::kInterrupted:
      case Patience::Verdict::kTimedOut:
        std::fprintf(stderr, "%s did not return within %s: %s\n", what_.c_str(), waited.c_str(),
                     absent.empty() ? "another rank is gone or stuck" : absent.c_str());
        std::fflush(stderr);
        _exit(exit_code_);
    }
  }
}

}  // namespace dtnn
