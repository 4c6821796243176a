// Makes certificates for ranks that meet over a network (docs/ranks-without-mpi.md), and identities
// for clients of a federation (docs/federation.md).

#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "apps/flags/tool_flags.h"
#include "apps/flags/value.h"
#include "apps/help/tool_help.h"
#include "apps/make_certificates/run.h"
#include "apps/program/paths.h"
#include "apps/program/run_program.h"
#include "comm/ranks/job/exit_code.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

constexpr ProgramText kProgramText = {
    .name = "make_certificates",
    .does = "makes certificates and keys for ranks and federations",
    .text =
        "make_certificates --folder=FOLDER NAME[,NAME_OR_ADDRESS...] ...\n"
        "\n"
        "Makes a certificate and a private key for each host, whose names and addresses are one\n"
        "argument, and, if the folder has none yet, the authority that signs them. Ranks on\n"
        "several hosts check them: docs/ranks-without-mpi.md.\n"
        "\n"
        "  make_certificates --folder=certificates node1,10.0.0.1 node2,10.0.0.2\n"
        "\n"
        "make_certificates --folder=FOLDER --identities=NAME[,NAME...]\n"
        "\n"
        "With --identities, makes a key for each client of a federation, and writes the lines\n"
        "of the aggregator's list of them: docs/federation.md.\n"
        "\n"
        "  make_certificates --folder=identities --identities=north,south >allowed",
};

constexpr Range kDays = {.low = 1, .high = 36500};

absl::Status Run(const std::vector<std::string>& arguments) {
  DTNN_RETURN_IF_ERROR(EnterUserDirectory());
  CertificateOptions options;
  std::string identities;
  const OptionSpec flags[] = {
      {.name = "folder",
       .type = OptionType::kPath,
       .help = "where the files are written, and where the authority's are or will be",
       .field = &options.folder,
       .example = "certificates"},
      {.name = "days",
       .type = OptionType::kInt,
       .help = "how long the certificates are valid",
       .unit = "days",
       .range = kDays,
       .field = &options.days},
      {.name = "identities",
       .type = OptionType::kText,
       .help = "in place of certificates: names of clients of a federation",
       .unit = "NAME[,NAME...]",
       .field = &identities,
       .example = "north,south"},
  };
  DTNN_ASSIGN_OR_RETURN(const ToolRequest request,
                        ParseToolFlags(arguments, flags, &options.hosts));
  if (request.action == Action::kHelp) {
    std::cout << ToolHelp(kProgramText, flags, request.help_topic);
    return absl::OkStatus();
  }
  if (options.folder.empty()) {
    return UsageError("--folder: missing; where are the files to be written?");
  }
  if (!identities.empty()) {
    if (!options.hosts.empty()) {
      return UsageError(
          "--identities: not together with names of hosts; make them one after the "
          "other");
    }
    for (const std::string_view name : SplitList(identities)) options.identities.emplace_back(name);
    return MakeIdentities(options, std::cout);
  }
  if (options.hosts.empty()) {
    return UsageError("names no host; write each with its addresses, as in node1,10.0.0.1");
  }
  return MakeCertificates(options, std::cout);
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  return dtnn::RunProgram(dtnn::kProgramText.name, argc, argv, "name fewer hosts", dtnn::Run);
}
