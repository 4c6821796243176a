#include "comm/ranks/mpi/mpi_process.h"

#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <utility>

#include "comm/launch_place.h"
#include "comm/ranks/group/group_communicator.h"
#include "comm/ranks/mpi/control/peer_processes.h"
#include "comm/ranks/mpi/engine.h"
#include "comm/ranks/mpi/mpi_api.h"
#include "comm/ranks/mpi/mpi_thread.h"
#include "comm/ranks/mpi/mpi_world.h"
#include "comm/wait.h"
#include "tensor/status_macros.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

// How long ranks wait for an answer to a hello: first, and once all are known to be alive, since
// one that was only slow to start is not out of reach.
constexpr std::chrono::milliseconds kHelloTimes[] = {std::chrono::seconds(2),
                                                     std::chrono::seconds(5)};

// How long MPI's thread gets to end when it has nothing left to do.
constexpr std::chrono::seconds kLastMoment(2);

// A task's end, seen from another thread; both threads hold it, so either may be the last.
class Ending {
 public:
  void Set() {
    std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  bool AwaitUntil(Wait::Clock::time_point end) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, end, [this] { return over_; });
  }
  void Await() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return over_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
};

}  // namespace

MpiProcess::MpiProcess(const CommunicatorOptions& options)
    : options_(options), thread_(std::make_unique<MpiThread>()) {}

absl::Status MpiProcess::RunInTime(const std::string& what, std::function<void()> task) {
  const auto ending = std::make_shared<Ending>();
  thread_->Post([ending, task = std::move(task)] {
    task();
    ending->Set();
  });
  Wait wait(options_);
  const auto text = [&] {
    const std::string absent = DescribeAbsentRanks();
    return Wait::Text{.who = what,
                      .what = StrCat("the other ranks", absent.empty() ? "" : ": ", absent),
                      .advice = absent.empty() ? "another rank is gone or stuck" : ""};
  };
  const absl::Status returned =
      wait.For(text, [&](Wait::Clock::time_point until) { return ending->AwaitUntil(until); });
  if (returned.ok()) return returned;
  stuck_ = true;
  return absl::Status(returned.code(),
                      StrCat(what, " did not return: it", returned.message().substr(what.size())));
}

absl::StatusOr<std::unique_ptr<MpiProcess>> MpiProcess::Start(const CommunicatorOptions& options,
                                                              int ranks_per_host) {
  int started = 0;
  MPI_Initialized(&started);
  if (started != 0) {
    return absl::FailedPreconditionError(
        "MPI is already initialised; a process can initialise it only once");
  }
  std::unique_ptr<MpiProcess> process(new MpiProcess(options));
  const LaunchPlace launched = FindLaunchPlace({.transport = Transport::kMpi});
  const auto world = std::make_shared<std::optional<absl::StatusOr<MpiWorld>>>();
  DTNN_RETURN_IF_ERROR(
      process->RunInTime(StrCat(launched.launched ? "rank " : "process ",
                                launched.launched ? launched.rank : getpid(), ": the start of MPI"),
                         [world, ranks_per_host] { world->emplace(StartMpi(ranks_per_host)); }));
  DTNN_RETURN_IF_ERROR((*world)->status());
  process->place_ = (**world)->place;
  process->engine_ = std::make_unique<Engine>(*process->thread_, std::move(***world));
  DTNN_RETURN_IF_ERROR(process->CheckDatagrams());
  return process;
}

absl::Status MpiProcess::CheckDatagrams() {
  absl::Status checked;
  for (const std::chrono::milliseconds limit : kHelloTimes) {
    DatagramReport mine;
    const std::vector<int> silent = engine_->Greet(limit);
    if (!silent.empty()) mine.unreached = silent.front();
    gethostname(mine.host, sizeof(mine.host) - 1);
    const auto reports =
        std::make_shared<absl::StatusOr<std::vector<DatagramReport>>>(absl::UnknownError(""));
    DTNN_RETURN_IF_ERROR(RunInTime(StrCat("rank ", rank(), ": the start of MPI"),
                                   [reports, mine, engine = engine_.get()] {
                                     *reports = GatherReports(engine->world(), mine);
                                   }));
    DTNN_RETURN_IF_ERROR(reports->status());
    checked = CheckReports(**reports);
    if (checked.ok()) break;
  }
  return checked;
}

absl::Status MpiProcess::Finish() {
  if (std::exchange(finished_, true)) return absl::OkStatus();
  absl::Status status;
  if (engine_ != nullptr) {
    engine_->Flush();
    if (finalizable()) {
      status = RunInTime(StrCat("rank ", rank(), ": MPI_Finalize"), [] { MPI_Finalize(); });
    }
  }
  if (!stuck_) stuck_ = !thread_->Stop(MpiThread::Clock::now() + kLastMoment);
  if (stuck_) (void)engine_.release();  // the thread may come back to it
  return status;
}

MpiProcess::~MpiProcess() {
  if (engine_ == nullptr) return;
  const absl::Status status = Finish();
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  std::fflush(stderr);
  _exit(EXIT_FAILURE);
}

bool MpiProcess::finalizable() const {
  return !stuck_ && (finalize_always_ || (engine_ != nullptr && !engine_->broken()));
}

void MpiProcess::Flush() {
  if (engine_ != nullptr) engine_->Flush();
}

void MpiProcess::Run(const std::function<void()>& calls) {
  const auto ending = std::make_shared<Ending>();
  thread_->Post([ending, &calls] {
    calls();
    ending->Set();
  });
  ending->Await();
}

absl::StatusOr<std::unique_ptr<Communicator>> MpiProcess::Connect(
    const CommunicatorOptions& options, const MpiOptions& mpi) {
  DTNN_ASSIGN_OR_RETURN(std::shared_ptr<Group> group, engine_->CreateGroup(options, mpi));
  return MakeGroupCommunicator(*engine_, std::move(group));
}

}  // namespace dtnn
