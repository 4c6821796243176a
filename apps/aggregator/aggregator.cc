// Averages what clients train on data of their own: docs/federation.md.

#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/aggregator/aggregator_flags.h"
#include "apps/aggregator/run.h"
#include "apps/flags/tool_flags.h"
#include "apps/help/tool_help.h"
#include "apps/printing/name_lists.h"
#include "apps/program/log.h"
#include "apps/program/paths.h"
#include "apps/program/run_program.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

constexpr ProgramText kProgramText = {
    .name = "aggregator",
    .does = "averages what clients of a federation train",
    .text =
        "aggregator --model=NAME [--dataset=NAME] [--rounds=N] [--min-clients=K] ...\n"
        "\n"
        "Gives clients (benchmark --parallel=federated --server=HOST:PORT) the parameters of a\n"
        "network, and averages the models that they train on data of their own:\n"
        "docs/federation.md. All need the same secret, which the example makes.\n"
        "\n"
        "  umask 077 && openssl rand -hex 32 >secret\n"
        "  DTNN_JOB_SECRET_FILE=secret aggregator --model=simplecnn8 --dataset=mnist --rounds=10",
    .ranks = true,
};

absl::Status Run(const std::vector<std::string>& arguments) {
  DTNN_RETURN_IF_ERROR(EnterUserDirectory());
  AggregatorFlags flags;
  const std::vector<OptionSpec> specs = OptionsOf(flags);
  DTNN_ASSIGN_OR_RETURN(const ToolRequest request, ParseToolFlags(arguments, specs));
  if (request.action == Action::kHelp) {
    std::cout << ToolHelp(kProgramText, specs, request.help_topic);
    return absl::OkStatus();
  }
  if (PrintList(request.action, std::cout)) return absl::OkStatus();
  BeginLog(flags.run.log_format, {.program = "aggregator"});
  FollowData(flags);
  DTNN_RETURN_IF_ERROR(CheckAggregatorFlags(flags));
  if (!flags.run.network.name.empty()) {
    DTNN_RETURN_IF_ERROR(CheckModelName(flags.run.network.name));
  }
  return RunAggregator(flags, std::cout, std::cerr);
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  return dtnn::RunProgram(dtnn::kProgramText.name, argc, argv, "use a smaller network", dtnn::Run);
}
