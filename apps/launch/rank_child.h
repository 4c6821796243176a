// One rank's process, as the launcher sees it: started here, or on another host by ssh.

#ifndef DTNN_APPS_LAUNCH_RANK_CHILD_H_
#define DTNN_APPS_LAUNCH_RANK_CHILD_H_

#include <sys/types.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "apps/launch/line_relay.h"

namespace dtnn {

// NAME and value each.
using Variables = std::vector<std::pair<std::string, std::string>>;

struct RankChildOptions {
  int rank = 0;
  std::string host = {};                  // empty: this one
  std::string ssh = "ssh";                // the program that starts a command on another host
  std::vector<std::string> command = {};  // the program and its arguments
  // Besides those of the launcher, less what says which job that belongs to
  // (comm/ranks/job/job_environment.h); on another host only these.
  Variables variables = {};
  int listener = -1;  // a file descriptor that it inherits
  // It may have no more files open: the launcher's own limit before that was raised for its pipes,
  // since a program that uses select fails with more.
  int64_t open_files = std::numeric_limits<int64_t>::max();
  std::string prefix = {};  // of its lines
};

class RankChild {
 public:
  // The streams take what it writes, and outlive it. It leads a process group of its own, and is
  // killed when the thread that started it ends. NotFound where there is no such program.
  static absl::StatusOr<std::unique_ptr<RankChild>> Start(const RankChildOptions& options,
                                                          std::ostream& out, std::ostream& err);
  ~RankChild();
  RankChild(const RankChild&) = delete;
  RankChild& operator=(const RankChild&) = delete;

  // Files that the launcher has open for it while it runs.
  static int64_t FilesOf(const RankChildOptions& options) { return options.host.empty() ? 2 : 3; }

  int rank() const { return rank_; }
  pid_t pid() const { return pid_; }
  const std::string& host() const { return host_; }
  // For poll: its standard output and error; -1: closed.
  int output() const { return pipes_[0]; }
  int error() const { return pipes_[1]; }

  // Passes on what can be read now.
  void Relay();
  // To a rank on another host through ssh.
  void Signal(int number);
  // Ends what is here at once: the rank, or the ssh that has started it.
  void Kill();
  // Whether it has ended. What its process group leaves behind is ended too.
  bool Reap();
  bool running() const { return !exit_code_; }
  // The exit code of a rank that has ended; 128 + n after signal n.
  int exit_code() const { return *exit_code_; }

 private:
  RankChild(const RankChildOptions& options, std::ostream& out, std::ostream& err);

  const int rank_;
  const std::string host_;
  pid_t pid_ = -1;
  int input_ = -1;  // of ssh
  int pipes_[2] = {-1, -1};
  LineRelay relays_[2];
  std::optional<int> exit_code_;
};

}  // namespace dtnn

#endif  // DTNN_APPS_LAUNCH_RANK_CHILD_H_
