// Predicts how data-parallel training scales: measures a step and the network here, and counts with
// formulas from there.

#include <chrono>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "apps/exit_code.h"
#include "apps/flags/parser.h"
#include "apps/name_lists.h"
#include "apps/ranks/rank_process.h"
#include "apps/run_program.h"
#include "apps/scale_model/run.h"
#include "apps/thread_waiting.h"
#include "apps/tool_flags.h"
#include "comm/launch_place.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

constexpr char kSummary[] =
    "scale_model [--model=NAME] [...]              predicts from a network as given or assumed\n"
    "mpirun -np RANKS scale_model [...]            measures it, and checks itself on these "
    "ranks\n\n"
    "Measures a training step here, and predicts steps of 1, 2, 4, ... ranks with each algorithm\n"
    "for the all-reduce of the gradients: docs/scale-model.md.";

// The launcher's flags of the same names, which check the values.
struct LauncherFlags {
  std::string model = "resnet20_cifar10", dataset, dtype = "float32", optimizer = "sgd";
  std::string conv_variant = Options().conv_variant;
  int64_t batch_size = 64;
  bool use_blocking_mpi = false;
};

absl::StatusOr<CommandLine> Check(const LauncherFlags& flags) {
  const std::vector<std::string> arguments = {
      absl::StrCat("--model=", flags.model),
      absl::StrCat("--dtype=", flags.dtype),
      absl::StrCat("--optimizer=", flags.optimizer),
      absl::StrCat("--conv-variant=", flags.conv_variant),
      absl::StrCat("--batch-size=", flags.batch_size),
      "--use-synthetic-data",
      absl::StrCat("--dataset=", flags.dataset.empty() ? "synthetic" : flags.dataset)};
  DTNN_ASSIGN_OR_RETURN(CommandLine command_line, ParseFlags(arguments));
  if (command_line.action != Action::kRun) return command_line;
  DTNN_RETURN_IF_ERROR(CheckModelName(flags.model));
  command_line.options.dataset = flags.dataset;
  command_line.options.use_blocking_mpi = flags.use_blocking_mpi;
  return command_line;
}

// Measures on all ranks that mpirun has started, or alone.
absl::Status RunHere(const ScaleModelOptions& options, const LaunchPlace& place) {
  if (!place.launched) return RunScaleModel(options, nullptr, std::cout);
  const RankProcessOptions rank = {
      .program = "scale_model",
      .communicator = {.timeout = std::chrono::milliseconds(int64_t(1000 * options.comm_timeout))}};
  return RunAsRank(place, rank, std::cout, std::cerr, [&](Communicator& communicator) {
    const absl::Status status = RunScaleModel(options, &communicator, std::cout);
    if (!status.ok()) communicator.Abort(status);
    return status;
  });
}

// True when --help or a list was asked for, and answered.
absl::StatusOr<bool> Understand(const std::vector<std::string>& arguments,
                                ScaleModelOptions& options, std::ostream& out) {
  LauncherFlags launcher;
  const ToolFlag step[] = {
      {"model", &launcher.model, "network of the zoo; list shows all"},
      {"dataset", &launcher.dataset, "whose samples it gets, made up; without: its own"},
      {"batch-size", &launcher.batch_size, "samples per rank and step", 1},
      {"dtype", &launcher.dtype, "float32 or float64"},
      {"optimizer", &launcher.optimizer, "as benchmark has them"},
      {"conv-variant", &launcher.conv_variant, "likewise"},
      {"steps", &options.steps, "that are timed", 1},
      {"layers", &options.layers, "tell when each layer's gradients are final"},
  };
  const ToolFlag exchange[] = {
      {"comm-bucket-mb", &options.bucket_mb, "MiB of gradients per all-reduce; 0: the best"},
      {"use-blocking-mpi", &launcher.use_blocking_mpi, "exchange behind the backward pass"},
      {"comm-timeout", &options.comm_timeout, "seconds to wait for other ranks", 1},
  };
  const ToolFlag cluster[] = {
      {"latency-us", &options.latency_us, "from node to node"},
      {"bandwidth-gbit", &options.bandwidth_gbit, "likewise, Gbit/s"},
      {"node-latency-us", &options.node_latency_us, "within a node"},
      {"node-bandwidth-gbit", &options.node_bandwidth_gbit, "likewise"},
      {"ranks-per-node", &options.ranks_per_node, "of the ranks predicted"},
      {"max-ranks", &options.max_ranks, "of the predictions", 1},
  };
  std::vector<ToolFlag> all(std::begin(step), std::end(step));
  all.insert(all.end(), std::begin(exchange), std::end(exchange));
  all.insert(all.end(), std::begin(cluster), std::end(cluster));
  DTNN_ASSIGN_OR_RETURN(const bool help, ParseToolFlags(arguments, all));
  if (help) {
    out << ToolHelp(absl::StrCat(kSummary, "\n\nThe step:"), step)
        << ToolHelp("\nThe exchange of gradients:", exchange)
        << ToolHelp("\nThe cluster; 0: as measured here, or, where nothing can be, assumed:",
                    cluster);
    return true;
  }
  DTNN_ASSIGN_OR_RETURN(CommandLine command_line, Check(launcher));
  if (command_line.action == Action::kListModels) ListModels(out);
  if (command_line.action == Action::kListDatasets) ListDatasets(out);
  options.training = std::move(command_line.options);
  return command_line.action != Action::kRun;
}

absl::Status Run(const std::vector<std::string>& arguments, const LaunchPlace& place) {
  ScaleModelOptions options;
  std::ostringstream answer;
  const absl::StatusOr<bool> answered = Understand(arguments, options, answer);
  if (place.rank > 0 && (!answered.ok() || *answered)) {  // rank 0 speaks
    return WithExitCode(absl::Status(answered.status().code(), ""), ExitCodeOf(answered.status()));
  }
  DTNN_RETURN_IF_ERROR(answered.status());
  if (!*answered) return RunHere(options, place);
  std::cout << answer.str();
  return absl::OkStatus();
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  dtnn::LetWaitingThreadsSleep(argv);
  return dtnn::RunProgram("scale_model", argc, argv, "a smaller --batch-size needs less",
                          [](const std::vector<std::string>& arguments) {
                            return dtnn::Run(arguments, dtnn::FindLaunchPlace());
                          });
}
