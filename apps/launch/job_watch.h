// Watches a job for its monitor (apps/monitor/monitor.h): the launcher's thread notes what happens
// to its ranks, the monitor's thread copies that, and makes texts of it afterwards.

#ifndef DTNN_APPS_LAUNCH_JOB_WATCH_H_
#define DTNN_APPS_LAUNCH_JOB_WATCH_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "apps/monitor/monitor.h"

namespace dtnn {

class JobWatch : public MonitorSource {
 public:
  using Clock = std::chrono::steady_clock;

  // The ranks that take part, also those that others have started.
  struct Ranks {
    int64_t present = 0, lost = 0;
    std::optional<int64_t> generations = {};  // nothing: ranks do not come and go
  };

  explicit JobWatch(std::function<Clock::time_point()> now = &Clock::now);

  // The job has from `least` to `most` ranks.
  void Begin(int64_t least, int64_t most);
  // A process of launch's own, by the number that it was started with; also in place of another.
  void OnStart(int number, const std::string& host);
  void OnExit(int number, int code);
  void OnTurn(const Ranks& ranks);
  // Why the job no longer does its work.
  void OnTrouble(const std::string& why);

  absl::Status Health() const override;
  std::string Metrics() const override;
  std::string Status() const override;

 private:
  struct Process {
    std::string host = {};
    bool running = false;
    int64_t starts = 0;
    std::optional<int> exit_code = {};  // the last one
  };
  struct Facts {
    int64_t least = 0, most = 0;
    Ranks ranks = {};
    std::string trouble = {};
    std::map<int, int64_t> exits = {};  // by exit code
    std::map<int, Process> processes = {};
    double seconds = 0;
  };

  Facts Copy() const;

  const std::function<Clock::time_point()> now_;
  const Clock::time_point began_;
  mutable std::mutex mutex_;
  Facts facts_;
};

}  // namespace dtnn

#endif  // DTNN_APPS_LAUNCH_JOB_WATCH_H_
