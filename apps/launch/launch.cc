// Starts the ranks of a data-parallel program without MPI, on this host or on several.

#include <algorithm>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "apps/flags/option_spec.h"
#include "apps/flags/tool_flags.h"
#include "apps/help/tool_help.h"
#include "apps/launch/run.h"
#include "apps/monitor/monitor_flags.h"
#include "apps/program/log.h"
#include "apps/program/paths.h"
#include "apps/program/run_program.h"
#include "comm/launch_place.h"
#include "comm/ranks/job/exit_code.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

constexpr ProgramText kProgramText = {
    .name = "launch",
    .does = "starts the ranks of a job without MPI",
    .text =
        "launch -n RANKS [--hosts=a,b] -- PROGRAM [ARGUMENT...]\n"
        "\n"
        "Starts RANKS processes of a program as one job: they meet without MPI, and recognise\n"
        "each other by a secret that is new for every job. On other hosts they are started by\n"
        "ssh, in the same folder. Each line that a rank writes has its number before it.\n"
        "Signals go to all ranks. When one fails, the others are ended; the exit code is 75 if\n"
        "a rank has ended with it, else that of the first that failed. PROGRAM is a path, or a\n"
        "name that is found in $PATH, which dtnn extends by DTNN's programs.\n"
        "\n"
        "  launch -n 4 -- benchmark --parallel=data ...",
    .files = true,
    .ranks = true,
};

constexpr std::string_view kMonitorHelp =
    "port of TCP of launch itself for /healthz, /metrics for Prometheus, /status.json: which ranks "
    "there are, and how others have ended; 0: a free one, which is printed";

constexpr Range kRanks = {.low = 0, .high = 4096}, kRestarts = {.low = 0, .high = 1e6},
                kGrace = {.low = 0, .high = 1e6};

// `flag`: as the user wrote it; empty: not at all.
absl::StatusOr<Transport> TransportOfRanks(const std::string& flag) {
  DTNN_RETURN_IF_ERROR(WithExitCode(CheckTransport(), kExitUsage));
  const Transport environment = FindLaunchPlace().transport;
  if (flag.empty() || flag == "auto") {
    return environment == Transport::kMpi ? Transport::kTcp : environment;
  }
  const Transport transport = TransportOf(flag);
  if (transport != Transport::kMpi && transport != Transport::kUnknown) return transport;
  return UsageError("--transport=", flag,
                    ": must be tcp, grpc or mqtt; with MPI, mpirun starts "
                    "ranks");
}

absl::Status Run(const std::vector<std::string>& arguments) {
  DTNN_RETURN_IF_ERROR(EnterUserDirectory());
  LaunchOptions options;
  std::string transport, log_format = "text";
  using enum OptionType;
  std::vector<OptionSpec> flags = {
      {.name = "ranks",
       .type = kInt,
       .help = "processes to start; -n for short",
       .unit = "ranks",
       .range = kRanks,
       .field = &options.ranks},
      {.name = "hosts",
       .type = kText,
       .help = "where to start them, in blocks of equal size: names or addresses of hosts, "
               "separated by commas; localhost needs no ssh",
       .unit = "hosts",
       .field = &options.hosts,
       .example = "node1,node2"},
      LikeLauncher(
          "transport", &transport,
          "transport of the messages between ranks; if not given, as PYMPI_PROTO says, or tcp"),
      LikeLauncher(
          "rendezvous", &options.rendezvous,
          "where rank 0 listens for the others; if not given, a free port of this host, or "
          "port 61642 of the first of --hosts. With mqtt, the broker"),
      {.name = "variables",
       .type = kText,
       .help = "variables of this environment that ranks on other hosts get too, separated by "
               "commas",
       .unit = "names",
       .field = &options.variables,
       .example = "OMP_NUM_THREADS"},
      {.name = "certificates",
       .type = kPath,
       .help = "folder, on every host, of the files that make_certificates has written for it: "
               "messages are encrypted",
       .field = &options.certificates,
       .example = "/etc/dtnn"},
      {.name = "plain",
       .type = kBool,
       .help = "allow messages between hosts that others on the network can read and change",
       .field = &options.plain},
      {.name = "prefix",
       .type = kBool,
       .help = "write the number of the rank before each line",
       .field = &options.prefix},
      LikeLauncher(
          "elastic", &options.elastic,
          "continue when ranks are lost, while MIN are left, and accept new ones, up to MAX"),
      {.name = "restarts",
       .type = kInt,
       .help = "with --elastic, how many ranks to start at most in place of killed ones",
       .unit = "ranks",
       .range = kRestarts,
       .field = &options.restarts},
      {.name = "grace",
       .type = kReal,
       .help =
           "how long the others may continue after one rank has failed, before they get SIGTERM, "
           "and again before they are killed",
       .unit = "seconds",
       .range = kGrace,
       .field = &options.grace},
      LikeLauncher("log-format", &log_format,
                   "json: a line of JSON for each line, of the ranks too; what they write as JSON "
                   "themselves stays as it is"),
      {.name = "ssh",
       .type = kPath,
       .help = "program that starts a command on another host, as ssh does",
       .field = &options.ssh},
  };
  for (OptionSpec& flag : MonitorFlags(options.monitor, kMonitorHelp)) {
    flags.push_back(std::move(flag));
  }
  const auto separator = std::ranges::find(arguments, "--");
  std::vector<std::string> own(arguments.begin(), separator);
  for (std::string& argument : own) {
    if (argument == "-n" || argument == "-np") argument = "--ranks";
  }
  absl::StatusOr<ToolRequest> parsed = ParseToolFlags(own, flags);
  if (!parsed.ok() && separator == arguments.end()) {
    return UsageError(parsed.status().message(),
                      "; write -- before the program, as in launch -n 2 -- benchmark");
  }
  DTNN_ASSIGN_OR_RETURN(const ToolRequest request, std::move(parsed));
  if (request.action == Action::kHelp) {
    std::cout << ToolHelp(kProgramText, flags, request.help_topic);
    return absl::OkStatus();
  }
  BeginLog(log_format, {.program = "launch"});
  if (separator != arguments.end()) options.command.assign(separator + 1, arguments.end());
  if (options.ranks == 0 && options.elastic.empty()) {
    return UsageError("--ranks=0: must be at least 1; only with --elastic others may start them");
  }
  if (options.command.empty() && options.ranks > 0) {
    return UsageError(
        "names no program to start; write it after --, as in launch -n 2 -- benchmark --help");
  }
  DTNN_ASSIGN_OR_RETURN(options.transport, TransportOfRanks(transport));
  return RunLaunch(options, std::cout, std::cerr);
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  return dtnn::RunProgram(dtnn::kProgramText.name, argc, argv, "start fewer ranks", dtnn::Run);
}
