#include "apps/launch/run.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "apps/launch/job_description.h"
#include "apps/launch/keeper.h"
#include "apps/launch/rank_child.h"
#include "comm/crypto/job_secret.h"
#include "comm/job/exit_code.h"
#include "comm/patience.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kNoProgram = 127;  // as shells say it

// Signals as events of a file descriptor, while it lives.
class Signals {
 public:
  Signals() {
    sigset_t events;
    sigemptyset(&events);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&events, number);
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
    DTNN_ASSIGN_OR_RETURN(JobDescription job, DescribeJob(options_));
    for (const RankChildOptions& rank : job.ranks) {
      absl::StatusOr<std::unique_ptr<RankChild>> child = RankChild::Start(rank, out_, err_);
      if (!child.ok()) {  // the destructors end those that run
        const bool no_program = absl::IsNotFound(child.status());
        return WithExitCode(child.status(), no_program ? kNoProgram : kExitFailed);
      }
      keeper_.Watch((*child)->pid());
      children_.push_back(*std::move(child));
    }
    job.listener = Socket();  // rank 0 has it
    while (Running() > 0) {
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

  void Say(const std::string& line) { err_ << StrCat("launch: ", line, "\n") << std::flush; }

  void Wait() {
    std::vector<pollfd> descriptors = {{signals_.descriptor(), POLLIN, 0}};
    for (const std::unique_ptr<RankChild>& child : children_) {
      for (const int pipe : {child->output(), child->error()}) {
        if (pipe >= 0) descriptors.push_back({pipe, POLLIN, 0});
      }
    }
    int64_t left = -1;
    if (deadline_) {
      left =
          std::max<int64_t>(0, std::chrono::ceil<milliseconds>(*deadline_ - Clock::now()).count());
    }
    poll(descriptors.data(), descriptors.size(), int(std::min<int64_t>(left, 60'000)));
  }

  void SignalAll(int number) {
    for (const std::unique_ptr<RankChild>& child : children_) child->Signal(number);
  }

  void TakeSignals() {
    while (const int number = signals_.Take()) {
      if (number == SIGCHLD) continue;
      SignalAll(number);
      // Who asks twice does not want to wait any longer.
      if (++asked_ == 2) Begin(End::kKill);
    }
  }

  void Reap() {
    for (const std::unique_ptr<RankChild>& child : children_) {
      if (!child->running() || !child->Reap()) continue;
      keeper_.Forget(child->pid());
      const int code = child->exit_code();
      if (code == kExitDone) continue;
      peer_lost_ |= code == kExitPeerLost;
      if (first_failure_ != kExitDone) continue;
      first_failure_ = code;
      const int64_t left = Running();
      Say(StrCat("rank ", child->rank(), child->host().empty() ? "" : " on " + child->host(),
                 code > 128 && code < 128 + NSIG ? StrCat(" was ended by signal ", code - 128)
                                                 : StrCat(" ended with exit code ", code),
                 left == 0
                     ? std::string()
                     : StrCat("; ", left, left == 1 ? " other still runs" : " others still run",
                              " and must end within ", ToString(grace_))));
      Begin(End::kAsk);
    }
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
    const int code = peer_lost_ ? kExitPeerLost : first_failure_;
    if (code == kExitDone) return absl::OkStatus();
    return WithExitCode(absl::AbortedError(""), code);
  }

  const LaunchOptions& options_;
  const milliseconds grace_;
  std::ostream& out_;
  std::ostream& err_;
  Keeper keeper_;
  Signals signals_;
  std::vector<std::unique_ptr<RankChild>> children_;
  int asked_ = 0;  // signals that were passed on
  int first_failure_ = kExitDone;
  bool peer_lost_ = false, broken_output_ = false;
  End next_ = End::kNotYet;
  std::optional<Clock::time_point> deadline_;
};

}  // namespace

absl::Status RunLaunch(const LaunchOptions& options, std::ostream& out, std::ostream& err) {
  return Launch(options, out, err).Run();
}

}  // namespace dtnn
