// The launcher: trains or tests a network of the zoo on a data set, as its flags say.
//
// Here stands only what a program is: flags in, messages out, exit codes.

#include <unistd.h>

#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/flags/argument_flags.h"
#include "apps/flags/environment.h"
#include "apps/flags/parser.h"
#include "apps/flags/validate.h"
#include "apps/launcher/benchmark_run.h"
#include "apps/launcher/launcher_help.h"
#include "apps/launcher/main_job.h"
#include "apps/options_file/options_file.h"
#include "apps/printing/name_lists.h"
#include "apps/program/job_flags.h"
#include "apps/program/log.h"
#include "apps/program/other_file.h"
#include "apps/program/paths.h"
#include "apps/program/program_command.h"
#include "apps/program/run_program.h"
#include "comm/launch_place.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/tell_once.h"
#include "models/run/parts/rank_process.h"
#include "models/run/run.h"
#include "tensor/files/atomic_file.h"
#include "tensor/files/output_file.h"
#include "tensor/status_macros.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr char kProgram[] = "benchmark";
static_assert(kLauncher.name == kProgram);

absl::StatusOr<CommandLine> Understand(const std::vector<std::string>& arguments) {
  DTNN_ASSIGN_OR_RETURN(CommandLine command_line, ParseFlags(arguments));
  if (command_line.action == Action::kRun && !command_line.options.network.name.empty()) {
    DTNN_RETURN_IF_ERROR(CheckModelName(command_line.options.network.name));
  }
  return command_line;
}

void Warn(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) {
    std::cerr << StrCat(kProgram, ": warning: ", warning, "\n");
  }
}

// Processes that do not know of each other would all train, into the same files.
absl::Status CheckLauncher(Transport transport) {
  const LaunchPlace place = FindUnconnectedPlace();
  if (!place.launched || transport != Transport::kMpi) return absl::OkStatus();
  if (place.rank > 0) return WithExitCode(absl::FailedPreconditionError(""), kExitUsage);
  return UsageError(
      "srun has started ", place.ranks,
      " processes without MPI, each of which would train alone and write the same files; start "
      "them with mpirun or srun --mpi=pmix (srun --mpi=list shows what there is), with "
      "--transport=tcp, or one process with srun --ntasks=1");
}

absl::Status DryRun(const Options& options, const LaunchPlace& place) {
  if (place.rank > 0) return absl::OkStatus();
  const bool joins = options.ranks.parallel == Parallel::kData &&
                     (place.launched || place.transport != Transport::kMpi);
  const absl::StatusOr<RunNeeds> needs = Run::Needs(options, {}, joins ? place.ranks : 0);
  if (!needs.ok()) return NameFlags(needs.status());
  for (const std::string& warning : needs->warnings) Warn({NameFlags(warning)});
  std::cout << NameFlags(Describe(*needs));
  return absl::OkStatus();
}

absl::Status WriteOptions(const Options& options) {
  const std::string text = FormatOptions(options);
  DTNN_RETURN_IF_ERROR(CheckOutputFile(options.save_options, "a file of options", IsSavedOptions));
  return WriteFileAtomically(options.save_options, std::as_bytes(std::span(text)));
}

// By rank 0. Its error ends the others too, which would wait for it.
absl::Status SaveOptions(const Options& options, const LaunchPlace& place) {
  if (options.save_options.empty() || place.rank > 0) return absl::OkStatus();
  const absl::Status saved = WithContext(WriteOptions(options), "--save-options");
  if (saved.ok() || options.dry_run) return saved;
  return TellOnce(saved, place, kProgram, std::cout, std::cerr);
}

absl::Status Train(const Options& options, const LaunchPlace& place) {
  DTNN_RETURN_IF_ERROR(SaveOptions(options, place));
  DTNN_RETURN_IF_ERROR(
      WithContext(CheckNotImportable(options.network.weights, options.network.name),
                  "--weights-and-bias-filename"));
  if (options.dry_run) return DryRun(options, place);
  DTNN_RETURN_IF_ERROR(CheckLauncher(place.transport));
  DTNN_RETURN_IF_ERROR(CheckPackagedData(options, PackagedDataIsInstalled()));
  const auto save_found = [&](double rate) {
    if (options.save_options.empty()) return absl::OkStatus();
    Options found = options;
    found.optimizer.find_learning_rate = false;
    found.optimizer.learning_rate = rate;
    return WithContext(WriteOptions(found), "--save-options");
  };
  return RunBenchmark(options, place, save_found, std::cout, std::cerr);
}

LogSource SourceOf(const Options& options, const LaunchPlace& place) {
  LogSource source = {.program = kProgram};
  if (place.ranks > 1) source.rank = place.rank;
  if (options.ranks.parallel == Parallel::kFederated)
    source.client = options.federation.client_name;
  return source;
}

absl::Status Answer(const CommandLine& command_line, const LaunchPlace& place) {
  if (command_line.action != Action::kRun && place.rank > 0) return absl::OkStatus();
  if (command_line.action == Action::kHelp) {
    DTNN_ASSIGN_OR_RETURN(const std::string help, LauncherHelp(command_line.help_topic));
    std::cout << help;
    return absl::OkStatus();
  }
  if (PrintList(command_line.action, std::cout)) return absl::OkStatus();
  BeginLog(command_line.options.log_format, SourceOf(command_line.options, place));
  if (place.rank == 0) {
    Warn(command_line.warnings);
    Warn(EnvironmentWarnings(environ, place.transport));
  }
  return Train(command_line.options, place);
}

absl::Status RunLauncher(std::vector<std::string> arguments) {
  DTNN_RETURN_IF_ERROR(EnterUserDirectory());
  const auto with_file = WithOptionsFile(arguments);
  if (with_file.ok()) arguments = *with_file;
  const LaunchPlace place = PlaceOfProcess({.ranks = JobFlags(arguments)});
  if (!with_file.ok()) return TellOnce(with_file.status(), place, kProgram, std::cout, std::cerr);
  if (arguments.empty()) {
    arguments = MainJobArguments();
    if (place.rank == 0) std::cout << NamingDocuments(MainJobNotice(ProgramCommand(kProgram)));
  }
  AddElastic(place, arguments);
  absl::StatusOr<CommandLine> command_line = Understand(arguments);
  if (!command_line.ok())
    return TellOnce(command_line.status(), place, kProgram, std::cout, std::cerr);
  Options& options = command_line->options;
  DropOtherConstants(options);
  const LaunchPlace known = PlaceOfProcess(options);
  if (known.transport == Transport::kUnknown) {
    const absl::Status unknown = WithExitCode(CheckTransport(), kExitUsage);
    return TellOnce(unknown, place, kProgram, std::cout, std::cerr);
  }
  options.ranks.transport = known.transport;  // for files and the list of parameters
  return Answer(*command_line, known);
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  return dtnn::RunProgram(dtnn::kProgram, argc, argv, "use a smaller --batch-size or network",
                          dtnn::RunLauncher);
}
