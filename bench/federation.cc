// bazel build -c opt //bench:federation && bazel-bin/bench/federation --help
//
// An aggregator, in a process of its own, and many clients that make their updates up
// (comm/federation/testing/swarm.h), over connections of this host: seconds per round, processor
// time and memory of the aggregator, processor time and bytes of a client. Prints a row of a table.
// Clients and aggregator share the processors, so seconds hold the work of both.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "apps/flags/option_table.h"
#include "apps/flags/tool_flags.h"
#include "apps/help/tool_help.h"
#include "apps/program/run_program.h"
#include "comm/federation/aggregator/aggregator.h"
#include "comm/federation/testing/swarm.h"
#include "comm/transport/tcp/socket.h"
#include "tensor/errors.h"
#include "tensor/must.h"
#include "tensor/stopwatch.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

constexpr ProgramText kProgramText = {
    .name = "federation",
    .does = "measures an aggregator",
    .text = "federation [--clients=1000] ...\n\nMeasures an aggregator."};

using federation::AggregatorOptions;
using federation::FederationState;
using federation::Protection;
using federation::RoundRecord;

struct FederationOptions {
  int64_t clients = 64, idle = 0, values = 1000000, rounds = 3, receive_memory = 1024;
  int64_t mask_neighbours = 0;
  double drop_out = 0;
  std::string encryption = "none";
};

int64_t DropOuts(const FederationOptions& options) {
  return int64_t(options.drop_out * double(options.clients));
}

struct Meeting {
  federation::MeetingPlace place;
  federation::ModelFacts model;
  federation::ProtectionOptions protection;
  JobSecret secret = Must(JobSecret::Of(std::string(40, 's')));
};

// Not of clients that are to drop out.
std::function<void(std::string_view)> WarnTo(const FederationOptions& options,
                                             std::string_view from) {
  if (options.drop_out > 0) return nullptr;
  return [from](std::string_view line) { std::cerr << from << line << "\n"; };
}

// In this process, until it is over; a line per round to `out`.
absl::Status Aggregate(const FederationOptions& options, const Meeting& meeting, int listener,
                       int out) {
  AggregatorOptions aggregator = {
      .place = meeting.place,
      .model = meeting.model,
      .protection = meeting.protection,
      .rounds = options.rounds,
      .min_clients = int(options.clients),
      .client_fraction = options.drop_out > 0 ? 1 : 1e-9,
      .max_connections = int(options.clients + options.idle),
      .receive_bytes = uint64_t(options.receive_memory) << 20,
      .deadline = std::chrono::seconds(3600),
      .timeout = std::chrono::seconds(3600),
      .warn = WarnTo(options, "aggregator: "),
      .round_done = [out](const RoundRecord& record, const FederationState&) {
        if (record.attempts > 1) {
          return absl::InternalError(StrCat("a round took ", record.attempts, " attempts"));
        }
        const std::string line = StrCat(record.seconds, "\n");
        return write(out, line.data(), line.size()) < 0 ? absl::UnavailableError("no reader")
                                                        : absl::OkStatus();
      }};
  aggregator.place.listener = listener;
  // No round begins before all are there. It asks as many as it needs, or all where some drop out.
  int64_t there = 0;
  aggregator.say = [&](std::string_view line) {
    there += line.find(" is there, with") != line.npos ? 1 : 0;
    const int64_t all = options.clients + options.idle;
    aggregator.min_clients = int(there < all ? all : options.clients - DropOuts(options));
  };
  FederationState state;
  state.parameters.assign(size_t(options.values), 0);
  return RunAggregator(aggregator, meeting.secret, state);
}

// "VmRSS:" and so on, in KiB; "Threads:".
int64_t StatusOf(pid_t process, const std::string& what) {
  std::ifstream status(StrCat("/proc/", process, "/status"));
  for (std::string word; status >> word;) {
    if (word != what) continue;
    int64_t number = 0;
    status >> number;
    return number;
  }
  return 0;
}

// All files that the system allows: a connection is one at each of its ends.
absl::Status RaiseFiles(int64_t connections) {
  rlimit files = {};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  if (int64_t(files.rlim_cur) >= connections + 200) return absl::OkStatus();
  return FailedPrecondition(connections, " connections need more open files than the ",
                            int64_t(files.rlim_cur), " that ulimit -n allows");
}

double Seconds(const rusage& used) {
  const auto seconds = [](const timeval& time) {
    return double(time.tv_sec) + 1e-6 * double(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// Processor time of this process.
double Seconds() {
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  return Seconds(used);
}

absl::Status Measure(const FederationOptions& options) {
  if (options.drop_out > 0 && options.idle > 0) {
    return absl::InvalidArgumentError("rounds whose clients drop out ask all: --idle=0");
  }
  DTNN_RETURN_IF_ERROR(RaiseFiles(options.clients + options.idle));
  Meeting meeting;
  meeting.model = {.values = uint64_t(options.values), .trainable = uint64_t(options.values)};
  meeting.protection.protection =
      options.encryption == "masked" ? Protection::kMasked : Protection::kNone;
  meeting.protection.mask_neighbours = int(options.mask_neighbours);
  DTNN_ASSIGN_OR_RETURN(Socket listener, Listen({.host = "127.0.0.1", .port = 0}));
  DTNN_ASSIGN_OR_RETURN(meeting.place.address, listener.Local());
  int lines[2] = {};
  if (pipe(lines) != 0) return absl::UnavailableError("no pipe");
  const pid_t aggregator = fork();
  if (aggregator == 0) {
    close(lines[0]);
    const absl::Status status = Aggregate(options, meeting, listener.Release(), lines[1]);
    if (!status.ok()) std::cerr << "aggregator: " << status.message() << "\n";
    _exit(status.ok() ? 0 : 1);
  }
  close(lines[1]);
  const int64_t connections = options.clients + options.idle;
  const Stopwatch connecting;
  federation::Swarm swarm({.place = meeting.place,
                           .name = "client",
                           .model = meeting.model,
                           .samples = 100,
                           .protection = meeting.protection,
                           .timeout = std::chrono::seconds(3600),
                           .warn = WarnTo(options, "")},
                          meeting.secret);
  swarm.DropOut(int(DropOuts(options)));
  if (options.encryption == "masked") swarm.SendAtATime(4 * NumThreads());
  const auto ends = [&](absl::Status status) {
    if (!status.ok()) kill(aggregator, SIGKILL);
    return status;
  };
  DTNN_RETURN_IF_ERROR(ends(swarm.Add(1)));
  const int64_t before = StatusOf(aggregator, "VmRSS:");
  // Rounds begin with the next one after these.
  DTNN_RETURN_IF_ERROR(ends(swarm.Add(int(connections) - 2)));
  const int64_t idle_kib = StatusOf(aggregator, "VmRSS:") - before;
  const double connect_seconds = connecting.seconds();
  DTNN_RETURN_IF_ERROR(ends(swarm.Add(1)));
  const double clients_before = Seconds();
  DTNN_RETURN_IF_ERROR(ends(swarm.Run()));
  const double clients_seconds = Seconds() - clients_before;
  int status = 0;
  rusage used = {};
  if (wait4(aggregator, &status, 0, &used) != aggregator || status != 0) {
    return absl::InternalError("the aggregator has failed");
  }
  std::string text(1 << 16, 0);
  text.resize(size_t(std::max<ssize_t>(0, read(lines[0], text.data(), text.size()))));
  std::replace(text.begin(), text.end(), '\n', ' ');
  const double answers = double(options.clients * options.rounds);
  std::cout << absl::StrFormat(
      "| %d | %d | %d | %s | %s| %.2f | %.0f | %.1f | %.1f | %.3f | %.2f | %.2f |\n",
      options.clients, connections, options.values, options.encryption, text,
      Seconds(used) / double(options.rounds), double(used.ru_maxrss) / 1024, connect_seconds,
      double(idle_kib) / double(std::max<int64_t>(1, connections - 2)), clients_seconds / answers,
      1e-6 * double(swarm.bytes_sent()) / answers, 1e-6 * double(swarm.bytes_received()) / answers);
  if (swarm.accepted() == (options.clients - DropOuts(options)) * options.rounds) {
    return absl::OkStatus();
  }
  return absl::InternalError(StrCat(swarm.accepted(), " updates were used"));
}

absl::Status Run(const std::vector<std::string>& arguments) {
  using enum OptionType;
  FederationOptions options;
  constexpr Range kClients = {.low = 3, .high = 1 << 20};
  const std::vector<OptionSpec> flags = {
      {.name = "clients",
       .type = kInt,
       .help = "clients that a round asks",
       .unit = "clients",
       .range = kClients,
       .field = &options.clients},
      {.name = "idle",
       .type = kInt,
       .help = "clients that are there besides",
       .unit = "clients",
       .range = kCountFrom0,
       .field = &options.idle},
      {.name = "values",
       .type = kInt,
       .help = "numbers of the model",
       .unit = "numbers",
       .range = kCountFrom1,
       .field = &options.values},
      {.name = "rounds",
       .type = kInt,
       .help = "rounds",
       .unit = "rounds",
       .range = kCountFrom1,
       .field = &options.rounds},
      {.name = "receive-memory",
       .type = kInt,
       .help = "memory of the aggregator for updates on their way",
       .unit = "MiB",
       .range = kCountFrom1,
       .field = &options.receive_memory},
      {.name = "encryption",
       .type = kWord,
       .help = "how updates are protected",
       .words = "none,masked",
       .field = &options.encryption},
      {.name = "mask-neighbours",
       .type = kInt,
       .help = "with masks: neighbours of a client, at least; 0: all others",
       .unit = "clients",
       .range = {.low = 0, .high = 254},
       .field = &options.mask_neighbours},
      {.name = "drop-out",
       .type = kReal,
       .help = "fraction of the clients of a round that send no update",
       .unit = "fraction",
       .range = {.low = 0, .high = 1, .high_open = true},
       .field = &options.drop_out}};
  DTNN_ASSIGN_OR_RETURN(const ToolRequest request, ParseToolFlags(arguments, flags));
  if (request.action == Action::kHelp) {
    std::cout << ToolHelp(kProgramText, flags, request.help_topic);
    return absl::OkStatus();
  }
  std::cout << "| asked | connected | numbers | encryption | seconds of each round | processor "
               "seconds a round | peak MiB | seconds to connect | KiB per connection | processor "
               "seconds of a client a round | MB that it sends | MB that it receives |\n"
               "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
            << std::flush;
  return Measure(options);
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  return dtnn::RunProgram("federation", argc, argv, "use fewer clients", dtnn::Run);
}
