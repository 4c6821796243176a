// Starts the ranks of a job, here or on several hosts, without MPI: tells them where they meet and
// the secret by which they know each other, passes on what they write and the signals that it gets,
// and ends what is left when one of them fails. Reports on them by HTTP where it is asked to.

#ifndef DTNN_APPS_LAUNCH_RUN_H_
#define DTNN_APPS_LAUNCH_RUN_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/flags/listen_options.h"
#include "comm/launch_place.h"

namespace dtnn {

struct LaunchOptions {
  int64_t ranks = 1;
  std::string hosts = {};  // comma list; empty: this host
  Transport transport = Transport::kTcp;
  std::string rendezvous = {};    // HOST:PORT; empty: of the first host, where several take part
  std::string variables = {};     // comma list of names: of the environment, also for other hosts
  std::string certificates = {};  // folder, on every host, of what make_certificates writes
  bool plain = false;             // between hosts without encryption
  bool prefix = true;             // "[rank] " before each line
  // MIN:MAX: the job continues without lost ranks, as long as MIN are left, and takes in
  // others up to MAX (comm/ranks/elastic). `ranks` may be 0 then: all are started by others.
  std::string elastic = {};
  int64_t restarts = 0;  // ranks that are started for others that were killed
  double grace = 10;     // seconds that ranks get to end
  std::string ssh = "ssh";
  MonitorOptions monitor = {};            // apps/launch/job_watch.h
  std::vector<std::string> command = {};  // program and arguments
};

// Returns when all have ended. The error of ranks that failed has no message, since they, and lines
// to `err`, have told the user, and the exit code 75 where one of them has ended with it
// (comm/ranks/job/exit_code.h), else that of the first that failed; 127 where there is no such
// program. One thread starts and ends all ranks; others are those of a monitor.
absl::Status RunLaunch(const LaunchOptions& options, std::ostream& out, std::ostream& err);

}  // namespace dtnn

#endif  // DTNN_APPS_LAUNCH_RUN_H_
