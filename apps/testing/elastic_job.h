// An elastic job of `launch` that others can join, since they know its secret, and that is killed
// where it hangs.

#ifndef DTNN_APPS_TESTING_ELASTIC_JOB_H_
#define DTNN_APPS_TESTING_ELASTIC_JOB_H_

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "apps/testing/launch_job.h"
#include "apps/testing/process.h"

namespace dtnn::testing {

class Watchdog {
 public:
  // Kills the process after that time.
  Watchdog(pid_t pid, std::chrono::seconds most);
  ~Watchdog() { Stop(); }
  // Whether it had to.
  bool Stop();

 private:
  std::atomic<bool> done_ = false, hung_ = false;
  std::thread thread_;
};

class ElasticJob {
 public:
  // `folder`: where its secret is kept. `options`: of `launch`. `run`: what each rank runs.
  ElasticJob(const std::string& folder, int ranks, const Arguments& options, const Arguments& run);

  Process& launch() { return *launch_; }
  // By the number that it was started with; -1: there is none.
  pid_t Rank(int number) const;
  // Another rank, which nobody has started with the others.
  pid_t Add(const std::string& elastic, const Arguments& more = {});
  Process& added(size_t index) { return *added_[index]; }
  Outcome Wait();

 private:
  const std::string folder_;
  const Arguments run_;
  std::string address_;
  std::optional<Process> launch_;
  std::optional<Watchdog> watchdog_;
  std::vector<std::unique_ptr<Process>> added_;
};

}  // namespace dtnn::testing

#endif  // DTNN_APPS_TESTING_ELASTIC_JOB_H_
