// A federation of many clients in one process: docs/simulate.md.

#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/flags/tool_flags.h"
#include "apps/help/tool_help.h"
#include "apps/printing/name_lists.h"
#include "apps/program/paths.h"
#include "apps/program/run_program.h"
#include "apps/simulate/run.h"
#include "apps/simulate/simulate_flags.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

constexpr ProgramText kProgramText = {
    .name = "simulate",
    .does = "trains a federation of many clients in one process",
    .text =
        "simulate --model=NAME --dataset=NAME [--clients=N] [--split=DIVISION] [--strategy=NAME] "
        "...\n"
        "\n"
        "Trains a network as a federation of many clients does, in this process:\n"
        "docs/simulate.md.\n"
        "\n"
        "  simulate --model=simplecnn8 --dataset=mnist --clients=1000 --clients-per-round=50 \\\n"
        "      --rounds=20 --split=dirichlet:0.3 --strategy=fedadam --report=rounds.html",
    .ranks = true,
};

absl::Status Run(const std::vector<std::string>& arguments) {
  DTNN_RETURN_IF_ERROR(EnterUserDirectory());
  SimulateFlags flags;
  const std::vector<OptionSection> sections = SectionsOf(flags);
  const std::vector<OptionSpec> specs = AllOptions(sections);
  DTNN_ASSIGN_OR_RETURN(const ToolRequest request, ParseToolFlags(arguments, specs));
  if (request.action == Action::kHelp) {
    std::cout << ToolHelp(kProgramText, sections, request.help_topic);
    return absl::OkStatus();
  }
  if (PrintList(request.action, std::cout)) return absl::OkStatus();
  FollowClients(flags);
  DTNN_RETURN_IF_ERROR(CheckSimulateFlags(flags));
  DTNN_RETURN_IF_ERROR(CheckModelName(flags.run.network.name));
  return Simulate(flags, std::cout, std::cerr);
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  return dtnn::RunProgram(dtnn::kProgramText.name, argc, argv,
                          "use a smaller network, or fewer threads", dtnn::Run);
}
