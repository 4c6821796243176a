#include "apps/testing/elastic_job.h"

#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "gtest/gtest.h"

namespace dtnn::testing {

Watchdog::Watchdog(pid_t pid, std::chrono::seconds most)
    : thread_([this, pid, most] {
        const auto end = std::chrono::steady_clock::now() + most;
        while (!done_ && std::chrono::steady_clock::now() < end) {
          std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        if (done_) return;
        hung_ = true;
        kill(pid, SIGKILL);
      }) {}

bool Watchdog::Stop() {
  done_ = true;
  if (thread_.joinable()) thread_.join();
  return hung_;
}

ElasticJob::ElasticJob(const std::string& folder, int ranks, const Arguments& options,
                       const Arguments& run)
    : folder_(folder), run_(run) {
  std::ofstream(folder + "/secret") << std::string(40, 's') << "\n";
  std::filesystem::permissions(folder + "/secret", std::filesystem::perms::owner_read);
  setenv("DTNN_JOB_SECRET_FILE", (folder + "/secret").c_str(), 1);
  setenv("OMP_NUM_THREADS", "1", 1);
  launch_.emplace(kLaunch, Ranks(ranks, run, With({"--grace=2"}, options)));
  unsetenv("DTNN_JOB_SECRET_FILE");
  watchdog_.emplace(launch_->pid(), std::chrono::seconds(150));
}

pid_t ElasticJob::Rank(int number) const {
  const std::map<int, pid_t> ranks = RanksOf(launch_->pid());
  const auto found = ranks.find(number);
  return found == ranks.end() ? -1 : found->second;
}

pid_t ElasticJob::Add(const std::string& elastic, const Arguments& more) {
  if (address_.empty()) {
    constexpr char kSays[] = "meet at ";
    EXPECT_TRUE(launch_->ReadUntil(kSays));
    EXPECT_TRUE(launch_->ReadUntil("generation 1:"));
    const std::string& text = launch_->text();
    const size_t at = text.find(kSays) + sizeof(kSays) - 1;
    address_ = text.substr(at, text.find('\n', at) - at);
  }
  setenv("DTNN_JOB_SECRET_FILE", (folder_ + "/secret").c_str(), 1);
  added_.push_back(std::make_unique<Process>(
      kBenchmark,
      With(With(run_, {"--transport=tcp", "--elastic=" + elastic, "--rendezvous=" + address_}),
           more)));
  unsetenv("DTNN_JOB_SECRET_FILE");
  return added_.back()->pid();
}

Outcome ElasticJob::Wait() {
  Outcome outcome = launch_->Wait();
  EXPECT_FALSE(watchdog_->Stop()) << "hung: " << outcome.text;
  return outcome;
}

}  // namespace dtnn::testing
