#include "apps/launch/run.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "apps/launch/job_description.h"
#include "apps/launch/job_watch.h"
#include "apps/launch/keeper.h"
#include "apps/launch/rank_child.h"
#include "apps/monitor/monitor.h"
#include "apps/program/log.h"
#include "comm/descriptors/open_files.h"
#include "comm/patience.h"
#include "comm/ranks/elastic/coordinator.h"
#include "comm/ranks/elastic/elastic_range.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/job_environment.h"
#include "comm/ranks/job/job_streams.h"
#include "comm/secrets/crypto/job_secret.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kNoProgram = 127;  // as shells say it

// Files beside the pipes of ranks that run: those of one that is started, and what the launcher has
// open itself; and, where they may be had, connections, besides one for each rank that comes and
// goes.
constexpr int64_t kOwnFiles = 16, kConnections = 320;

// Signals as events of a file descriptor, while it lives; without those that the process was
// started to ignore (nohup, a shell's background job).
class Signals {
 public:
  Signals() {
    sigset_t events;
    sigemptyset(&events);
    sigaddset(&events, SIGCHLD);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction action;
      sigaction(number, nullptr, &action);
      if (action.sa_handler != SIG_IGN) sigaddset(&events, number);
    }
    sigprocmask(SIG_BLOCK, &events, &before_);
    descriptor_ = signalfd(-1, &events, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~Signals() {
    if (descriptor_ >= 0) close(descriptor_);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int descriptor() const { return descriptor_; }
  // The next one that came; 0: none.
  int Take() const {
    signalfd_siginfo info;
    return read(descriptor_, &info, sizeof(info)) == sizeof(info) ? int(info.ssi_signo) : 0;
  }

 private:
  int descriptor_;
  sigset_t before_;
};

class Launch {
 public:
  Launch(const LaunchOptions& options, std::ostream& out, std::ostream& err)
      : options_(options), grace_(int64_t(1000 * options.grace)), out_(out), err_(err) {}

  absl::Status Run() {
    if (signals_.descriptor() < 0) {
      return ResourceExhausted("cannot watch for signals: ", strerror(errno));
    }
    KeepFromDumps();  // with the job's secret, of which the ranks inherit it
    DTNN_ASSIGN_OR_RETURN(job_, DescribeJob(options_));
    DTNN_RETURN_IF_ERROR(AllowPipes());
    if (elastic()) {
      DTNN_RETURN_IF_ERROR(MakeCoordinator());
    } else {
      watch_.Begin(options_.ranks, options_.ranks);
    }
    DTNN_RETURN_IF_ERROR(StartMonitor());
    for (const RankChildOptions& rank : job_.ranks) {
      absl::StatusOr<std::unique_ptr<RankChild>> child = Start(rank);
      if (!child.ok()) {  // the destructors end those that run
        const bool no_program = absl::IsNotFound(child.status());
        return WithExitCode(child.status(), no_program ? kNoProgram : kExitFailed);
      }
      children_.push_back(*std::move(child));
    }
    job_.listener = Socket();  // rank 0 has it
    while (Running() > 0 || ServesOthers()) {
      watch_.OnTurn(Ranks());
      Wait();
      TakeSignals();
      for (const std::unique_ptr<RankChild>& child : children_) child->Relay();
      Reap();
      if (!out_ && !broken_output_) GiveUpOnOutput();
      EndWhatIsLeft();
    }
    return Result();
  }

 private:
  // How the ranks are ended, one step after another, each when its time is over.
  enum class End : uint8_t { kNotYet, kAsk, kKill, kKillHere, kDone };

  int64_t Running() const {
    return std::ranges::count_if(children_, [](const auto& child) { return child->running(); });
  }

  bool elastic() const { return !options_.elastic.empty(); }

  void Say(const std::string& line, std::span<const LogField> fields = {}) {
    WriteLog(err_, Severity::kInfo, StrCat(LogsJson(err_) ? "" : "launch: ", line, "\n"), fields);
  }
  // What the line that says that it has ended has beside its text.
  static std::array<LogField, 2> FieldsOf(const RankChild& child) {
    return {LogFieldOf("of_rank", int64_t{child.rank()}),
            LogFieldOf("exit_code", int64_t{child.exit_code()})};
  }

  absl::Status AllowPipes() {
    const int64_t before = OpenFilesAllowed();
    int64_t needed = kOwnFiles;
    for (RankChildOptions& rank : job_.ranks) {
      rank.open_files = before;
      needed += RankChild::FilesOf(rank);
    }
    int64_t connections = kConnections;
    if (elastic()) {
      DTNN_ASSIGN_OR_RETURN(const ElasticRange range, ElasticRange::Parse(options_.elastic));
      connections += range.max;
    }
    const int64_t allowed = AllowOpenFiles(needed + connections);
    if (allowed >= needed) return absl::OkStatus();
    return ResourceExhausted(job_.ranks.size(), " ranks need ", needed,
                             " open files here, and the system allows ", allowed,
                             "; raise the hard limit (ulimit -Hn), or start fewer ranks");
  }

  // Before there are ranks, which a port that is in use would cost their work.
  absl::Status StartMonitor() {
    if (!options_.monitor.port && options_.monitor != MonitorOptions()) {
      Say("options that begin with --metrics- have no effect without --metrics-port");
    }
    DTNN_ASSIGN_OR_RETURN(monitor_, Monitor::Start(options_.monitor, watch_));
    if (monitor_ != nullptr) Say(StrCat("metrics of the job at ", monitor_->url()));
    return absl::OkStatus();
  }

  JobWatch::Ranks Ranks() const {
    if (coordinator_ == nullptr) {
      return {.present = Running(), .lost = lost_, .generations = generations_};
    }
    return {.present = int64_t(coordinator_->ranks()),
            .lost = coordinator_->lost(),
            .generations = coordinator_->generation()};
  }

  absl::StatusOr<std::unique_ptr<RankChild>> Start(const RankChildOptions& rank) {
    DTNN_ASSIGN_OR_RETURN(std::unique_ptr<RankChild> child, RankChild::Start(rank, out_, err_));
    keeper_.Watch(child->pid());
    watch_.OnStart(child->rank(), child->host());
    return child;
  }

  // Where ranks come and go: whom they call.
  absl::Status MakeCoordinator() {
    const auto variable = [this](const char* name) -> const char* {
      const auto found =
          std::ranges::find(job_.coordinator, name, [](const auto& pair) { return pair.first; });
      return found == job_.coordinator.end() ? nullptr : found->second.c_str();
    };
    const absl::StatusOr<JobEnvironment> job = FindJob({.transport = Transport::kTcp}, variable);
    if (!job.ok()) return OfEnvironment(job.status());
    DTNN_ASSIGN_OR_RETURN(const ElasticRange range, ElasticRange::Parse(options_.elastic));
    DTNN_ASSIGN_OR_RETURN(StreamMaker streams, StreamsOf(*job));
    const Endpoint& address = job->rendezvous.address;
    restarts_left_ = options_.restarts;
    coordinator_ = std::make_unique<Coordinator>(
        CoordinatorOptions{.range = range,
                           .first = options_.ranks == 0 ? range.min : int(options_.ranks),
                           .stream = std::move(streams),
                           .more_come = [this] { return MoreCome(); },
                           .say = [this](std::string_view line) { Say(std::string(line)); }},
        job->secret, std::move(job_.listener));
    watch_.Begin(range.min, range.max);
    Say(StrCat("ranks, ", range.min, " to ", range.max, ", meet at ", address.ToString()));
    return absl::OkStatus();
  }

  // Whether a rank is on its way, or will be.
  bool MoreCome() const {
    return coordinator_ != nullptr && asked_ == 0 && !ending_ &&
           (restarts_left_ > 0 || started_in_ == coordinator_->generation() ||
            Running() > int64_t(coordinator_->ranks()));
  }

  // Ranks that others have started, or will.
  bool ServesOthers() const {
    if (coordinator_ == nullptr || asked_ > 0 || coordinator_->over()) return false;
    return coordinator_->ranks() > 0 || (options_.ranks == 0 && coordinator_->generation() == 0);
  }

  void Wait() {
    std::vector<pollfd> descriptors = {{signals_.descriptor(), POLLIN, 0}};
    for (const std::unique_ptr<RankChild>& child : children_) {
      for (const int pipe : {child->output(), child->error()}) {
        if (pipe >= 0) descriptors.push_back({pipe, POLLIN, 0});
      }
    }
    const size_t own = descriptors.size();
    Clock::time_point next = Clock::now() + std::chrono::minutes(1);
    if (deadline_) next = std::min(next, *deadline_);
    if (coordinator_ != nullptr) {
      coordinator_->AddTo(descriptors);
      next = std::min(next, coordinator_->next());
    }
    const int64_t left = std::chrono::ceil<milliseconds>(next - Clock::now()).count();
    poll(descriptors.data(), descriptors.size(), int(std::max<int64_t>(0, left)));
    if (coordinator_ == nullptr) return;
    const absl::Status status = coordinator_->Turn(std::span(descriptors).subspan(own));
    if (status.ok()) {
      if (coordinator_->over() && !coordinator_->outcome().ok()) {
        watch_.OnTrouble(std::string(coordinator_->outcome().message()));
      }
      return;
    }
    const std::string line =
        StrCat("no rank can join any more, and one that is lost ends the run: ", status.message());
    Say(line);
    watch_.OnTrouble(line);
    broken_door_ = status;
    lost_ = coordinator_->lost();
    generations_ = coordinator_->generation();
    coordinator_ = nullptr;
  }

  void SignalAll(int number) {
    for (const std::unique_ptr<RankChild>& child : children_) child->Signal(number);
  }

  void TakeSignals() {
    while (const int number = signals_.Take()) {
      if (number == SIGCHLD) continue;
      SignalAll(number);
      if (first_signal_ == 0) first_signal_ = number;
      // A second signal ends the run at once.
      if (++asked_ == 2) Begin(End::kKill);
    }
  }

  void Reap() {
    for (std::unique_ptr<RankChild>& child : children_) {
      if (!child->running() || !child->Reap()) continue;
      keeper_.Forget(child->pid());
      const int code = child->exit_code();
      watch_.OnExit(child->rank(), code);
      lost_ += WasLost(*child) && asked_ == 0 && !ending_;
      done_ |= code == kExitDone;
      peer_lost_ |= code == kExitPeerLost;
      failed_ |= code != kExitDone && code != kExitPeerLost && !WasLost(*child);
      if (elastic() && code != kExitUsage && code != kExitPeerLost) {
        Replace(child);
        continue;
      }
      if (code == kExitDone || first_failure_ != kExitDone) continue;
      first_failure_ = code;
      const int64_t left = Running();
      Say(StrCat(HowItEnded(*child),
                 left == 0
                     ? std::string()
                     : StrCat("; ", left, left == 1 ? " other still runs" : " others still run",
                              " and must end within ", ToString(grace_))),
          FieldsOf(*child));
      watch_.OnTrouble(HowItEnded(*child));
      BeginToEnd();
    }
  }

  static std::string HowItEnded(const RankChild& child) {
    const int code = child.exit_code();
    return StrCat("rank ", child.rank(), child.host().empty() ? "" : " on " + child.host(),
                  WasKilled(code) ? StrCat(" was ended by signal ", code - 128)
                                  : StrCat(" ended with exit code ", code));
  }
  static bool WasKilled(int code) { return code > 128 && code < 128 + NSIG; }
  // Killed, or there was no way to its host: it says nothing of the run.
  static bool WasLost(const RankChild& child) {
    constexpr int kOfSsh = 255;
    const int code = child.exit_code();
    return WasKilled(code) || (code == kOfSsh && !child.host().empty());
  }

  // Where ranks come and go: the others continue without it, or, when it has done its work, end
  // too.
  void Replace(std::unique_ptr<RankChild>& child) {
    const int code = child->exit_code();
    if (child->pid() == started_) started_in_.reset();  // it does not come any more
    if (code == kExitDone) return BeginToEnd();
    if (first_failure_ == kExitDone) first_failure_ = code;
    std::string line = HowItEnded(*child);
    const std::array<LogField, 2> fields = FieldsOf(*child);
    const bool again = WasLost(*child) && restarts_left_ > 0 && asked_ == 0 && !ending_;
    if (again) {
      --restarts_left_;
      absl::StatusOr<std::unique_ptr<RankChild>> next = Start(job_.ranks[size_t(child->rank())]);
      if (next.ok()) {
        child = *std::move(next);
        started_ = child->pid();
        if (coordinator_ != nullptr) started_in_ = coordinator_->generation();
      }
      StrAppend(&line,
                next.ok() ? "; another is started"
                          : StrCat("; no other can be started: ", next.status().message()),
                ", ", restarts_left_, " more may be");
    }
    Say(StrCat(line, "; ", Running(), Running() == 1 ? " runs" : " run"), fields);
  }

  void BeginToEnd() {
    ending_ = true;
    Begin(End::kAsk);
  }

  // Nobody reads what the ranks say: as if the launcher had been ended by that.
  void GiveUpOnOutput() {
    broken_output_ = true;
    SignalAll(SIGTERM);
    Begin(End::kKill);
  }

  // That step is due after the time of grace, unless one that ends more is already.
  void Begin(End step) {
    if (next_ >= step) return;
    next_ = step;
    deadline_ = Clock::now() + grace_;
  }

  void EndWhatIsLeft() {
    if (!deadline_ || Clock::now() < *deadline_ || Running() == 0) return;
    std::vector<int> left;
    for (const std::unique_ptr<RankChild>& child : children_) {
      if (child->running()) left.push_back(child->rank());
    }
    if (next_ == End::kAsk) {
      Say(StrCat("sends SIGTERM to ", RankList(left)));
      SignalAll(SIGTERM);
    } else if (next_ == End::kKill) {
      Say(StrCat("kills ", RankList(left)));
      SignalAll(SIGKILL);
    } else {
      for (const std::unique_ptr<RankChild>& child : children_) child->Kill();
    }
    next_ = next_ == End::kDone ? End::kDone : End(int(next_) + 1);
    deadline_ = Clock::now() + grace_;
  }

  absl::Status Result() const {
    // Even if ranks were lost before. What those say that have failed counts more than that the
    // others then ended the job.
    if (elastic() && asked_ == 0 && (done_ || (!failed_ && Outcome().ok()))) {
      return absl::OkStatus();
    }
    const int code = peer_lost_ ? kExitPeerLost : first_failure_;
    if (code != kExitDone) return WithExitCode(absl::AbortedError(""), code);
    if (!elastic() || done_) return absl::OkStatus();
    // No rank of its own says how the run ended.
    if (asked_ > 0) return WithExitCode(absl::AbortedError(""), ExitCodeOfSignal(first_signal_));
    return WithContext(Outcome(), "--elastic");
  }

  // How the run ended for the ranks of all, where they come and go.
  absl::Status Outcome() const {
    if (coordinator_ == nullptr) return broken_door_;
    if (coordinator_->over()) return coordinator_->outcome();
    return FailedPrecondition("the ranks have ended before the run was complete");
  }

  const LaunchOptions& options_;
  const milliseconds grace_;
  std::ostream& out_;
  std::ostream& err_;
  Keeper keeper_;
  Signals signals_;
  JobWatch watch_;
  std::unique_ptr<Monitor> monitor_;
  JobDescription job_;
  std::unique_ptr<Coordinator> coordinator_;  // null: ranks do not come and go
  int64_t lost_ = 0;                          // ranks, where there is no coordinator
  std::optional<int64_t> generations_ = {};   // when the coordinator was gone
  int64_t restarts_left_ = 0;
  // The generation in which the last one was started for another: it is on its way to the next.
  std::optional<int64_t> started_in_ = {};
  pid_t started_ = 0;  // that one
  std::vector<std::unique_ptr<RankChild>> children_;
  absl::Status broken_door_;  // why there is no coordinator any more
  int asked_ = 0;             // signals that were passed on
  int first_signal_ = 0;      // of them
  int first_failure_ = kExitDone;
  bool peer_lost_ = false, broken_output_ = false;
  bool done_ = false;    // a rank has come to the run's end
  bool failed_ = false;  // a rank says that it has
  bool ending_ = false;  // all are to end
  End next_ = End::kNotYet;
  std::optional<Clock::time_point> deadline_;
};

}  // namespace

absl::Status RunLaunch(const LaunchOptions& options, std::ostream& out, std::ostream& err) {
  return Launch(options, out, err).Run();
}

}  // namespace dtnn
