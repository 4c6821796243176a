// Predicts how data-parallel training scales: measures a step and the network here, and counts with
// formulas from there.

#include <unistd.h>

#include <chrono>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "apps/flags/environment.h"
#include "apps/flags/option_table.h"
#include "apps/flags/options.h"
#include "apps/flags/tool_flags.h"
#include "apps/help/tool_help.h"
#include "apps/printing/name_lists.h"
#include "apps/program/paths.h"
#include "apps/program/run_program.h"
#include "apps/scale_model/run.h"
#include "comm/launch_place.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/rank_process.h"
#include "comm/ranks/job/ranks.h"
#include "comm/ranks/job/tell_once.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

constexpr char kDefaultModel[] = "resnet20_cifar10";
constexpr char kProgram[] = "scale_model";
constexpr ProgramText kProgramText = {
    .name = kProgram,
    .does = "predicts how training scales",
    .text =
        "scale_model [--model=NAME] [...]      predicts for a network with given or assumed speed\n"
        "mpirun -np RANKS scale_model [...]    measures the network, and checks itself on these "
        "ranks\n"
        "\n"
        "Measures a training step here, and predicts the time of a step on 1, 2, 4, ... ranks,\n"
        "for each algorithm of the all-reduce of gradients: docs/scale-model.md.",
};

constexpr std::string_view kNetworkAlg =
    "all: ring, halving-doubling and hierarchical, of which the launcher chooses\n"
    "vdg: halving-doubling, which is van de Geijn's reduce-scatter, then all-gather\n"
    "bta: binomial tree\n";

// The formulas count messages rank by rank.
constexpr Range kRanks = {.low = 0, .high = 1 << 20}, kMaxRanks = {.low = 1, .high = 1 << 20};

// Measures on all ranks that mpirun has started, or alone.
absl::Status RunHere(const ScaleModelOptions& options, const LaunchPlace& place) {
  if (!place.launched && place.transport == Transport::kMpi)
    return RunScaleModel(options, nullptr, std::cout);
  const RankProcessOptions rank = {
      .program = kProgram,
      .communicator = {.timeout = std::chrono::milliseconds(int64_t(1000 * options.comm_timeout))}};
  return RunAsRank(place, rank, std::cout, std::cerr, [&](Communicator& communicator) {
    const absl::Status begun = Agree(&communicator, absl::OkStatus());  // TellOnce
    if (!begun.ok()) return ErrorOfRank(communicator, begun);
    const absl::Status status = RunScaleModel(options, &communicator, std::cout);
    if (!status.ok()) communicator.Abort(status);
    return status;
  });
}

std::vector<OptionSection> Sections(ScaleModelOptions& options) {
  using enum OptionType;
  Options& run = options.run;
  // As for the launcher, but that 0 may be given: as measured.
  const auto of_network = [](std::string_view name, double* field, std::string_view help) {
    OptionSpec spec = LikeLauncher(name, field, help);
    spec.range.low = 0;
    return spec;
  };
  OptionSpec algorithm =
      LikeLauncher("network-alg", &options.network_alg, "all-reduces of gradients to predict");
  algorithm.words = "all,vdg,bta";
  algorithm.meanings = kNetworkAlg;
  const auto cost = [](std::string_view name, double* field, std::string_view unit,
                       std::string_view help) {
    return OptionSpec{.name = name,
                      .type = kReal,
                      .help = help,
                      .unit = unit,
                      .range = {.low = 0, .high = 1e15},
                      .field = field};
  };
  const auto count = [](std::string_view name, int64_t* field, std::string_view unit,
                        std::string_view help, const Range& range) {
    return OptionSpec{
        .name = name, .type = kInt, .help = help, .unit = unit, .range = range, .field = field};
  };
  return {
      {"The step",
       {LikeLauncher("model", &run.network.name,
                     "network; resnet20_cifar10 if neither this nor --model-file is given; "
                     "--model=list shows all"),
        {.name = "model-file",
         .type = kPath,
         .help = "file of a saved model, whose network is used instead of --model",
         .field = &options.model_file},
        LikeLauncher("freeze", &run.network.freeze),
        LikeLauncher(
            "dataset", &run.data.name,
            "data set whose shape the generated samples have; if not given, the model's own"),
        LikeLauncher("batch-size", &run.training.batch, "samples per step and rank"),
        LikeLauncher("dtype", &run.network.dtype),
        LikeLauncher("optimizer", &run.optimizer.name),
        LikeLauncher("conv-variant", &run.convolution.variant),
        count("steps", &options.steps, "steps", "training steps that are timed", kCountFrom1),
        {.name = "layers",
         .type = kBool,
         .help = "print when the gradients of each layer are final",
         .field = &options.layers}}},
      {"The exchange of gradients",
       {LikeLauncher("comm-bucket-mb", &run.sync.bucket_mb,
                     "gradients per all-reduce; auto: the best size for each prediction"),
        LikeLauncher("use-blocking-mpi", &run.sync.blocking,
                     "exchange gradients after the backward pass; False: during it"),
        LikeLauncher("comm-timeout", &options.comm_timeout)}},
      {"The cluster; 0: as measured here, or assumed where it cannot be measured",
       {LikeLauncher("cpu-speed", &options.machine.cpu_speed,
                     "floating-point operations per second of each rank"),
        LikeLauncher("memory-bw", &options.machine.memory_bw,
                     "bytes of memory copied per second, of each rank"),
        of_network("network-bw", &options.network_bw, "bytes per second between nodes"),
        of_network("network-lat", &options.network_lat, "latency of a message between nodes"),
        algorithm, cost("node-bw", &options.node_bw, "bytes/s", "bytes per second within a node"),
        cost("node-lat", &options.node_lat, "seconds", "latency of a message within a node"),
        count("ranks-per-node", &options.ranks_per_node, "ranks",
              "ranks on each node of the predicted cluster", kRanks),
        count("max-ranks", &options.max_ranks, "ranks", "largest number of ranks to predict",
              kMaxRanks)}},
  };
}

// True when --help or a list was asked for, and answered.
absl::StatusOr<bool> Understand(const std::vector<std::string>& arguments,
                                ScaleModelOptions& options, std::ostream& out) {
  const std::vector<OptionSection> sections = Sections(options);
  const std::vector<OptionSpec> flags = AllOptions(sections);
  DTNN_ASSIGN_OR_RETURN(const ToolRequest request, ParseToolFlags(arguments, flags));
  if (request.action == Action::kHelp) {
    out << ToolHelp(kProgramText, sections, request.help_topic);
    return true;
  }
  if (PrintList(request.action, out)) return true;
  if (!options.model_file.empty()) {
    for (const auto& [flag, value] : {std::pair("--model", &options.run.network.name),
                                      std::pair("--dataset", &options.run.data.name)}) {
      if (value->empty()) continue;
      return UsageError(flag, " and --model-file: cannot be used together; give one of them");
    }
  } else {
    if (options.run.network.name.empty()) options.run.network.name = kDefaultModel;
    DTNN_RETURN_IF_ERROR(CheckModelName(options.run.network.name));
  }
  DTNN_RETURN_IF_ERROR(BucketBytes(options.run).status());
  return false;
}

absl::Status Run(const std::vector<std::string>& arguments, const LaunchPlace& place) {
  DTNN_RETURN_IF_ERROR(EnterUserDirectory());
  ScaleModelOptions options;
  options.run.training.batch = 64;
  options.run.sync.blocking = false;
  std::ostringstream answer;
  const absl::StatusOr<bool> answered = Understand(arguments, options, answer);
  if (!answered.ok()) {
    return TellOnce(answered.status(), place, kProgram, std::cout, std::cerr);
  }
  if (*answered) {
    if (place.rank == 0) std::cout << answer.str();
    return absl::OkStatus();
  }
  for (const std::string& warning : EnvironmentWarnings(environ, place.transport)) {
    if (place.rank == 0) std::cerr << kProgram << ": warning: " << warning << "\n";
  }
  return RunHere(options, place);
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  return dtnn::RunProgram(dtnn::kProgram, argc, argv, "use a smaller --batch-size",
                          [](const std::vector<std::string>& arguments) {
                            return dtnn::Run(arguments, dtnn::FindLaunchPlace());
                          });
}
