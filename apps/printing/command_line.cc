#include "apps/printing/command_line.h"

#include <algorithm>

#include "apps/flags/option_table.h"
#include "apps/flags/value.h"
#include "comm/launch_place.h"
#include "tensor/text/shell_word.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

namespace {

// The ranks of a job find each other by what starts them, and not by their own options.
constexpr std::string_view kLaunchers[] = {"transport", "rendezvous", "elastic"};

std::string Launcher(const Options& options, int ranks) {
  if (ranks == 1) return "";
  const Transport transport = options.ranks.transport.value_or(Transport::kMpi);
  if (transport == Transport::kMpi) {
    return StrCat("mpirun -np ", ranks, " ");
  }
  std::string line = StrCat("launch -n ", ranks, " ");
  if (transport != Transport::kTcp) StrAppend(&line, "--transport=", Name(transport), " ");
  if (options.given.contains("rendezvous")) {
    StrAppend(&line, "--rendezvous=", ShellWord(options.ranks.rendezvous), " ");
  }
  if (!options.ranks.elastic.empty()) StrAppend(&line, "--elastic=", options.ranks.elastic, " ");
  return line + "-- ";
}

}  // namespace

std::string CommandLineOf(const Options& options, int ranks, std::string_view separator) {
  const bool of_job = options.ranks.parallel == Parallel::kData;
  std::string line = StrCat(of_job ? Launcher(options, ranks) : "", "benchmark");
  for (const OptionSpec& spec : OptionTable()) {
    if (!options.given.contains(spec.name)) continue;
    if (spec.name == "options") continue;  // what it says is given too
    if (of_job && std::ranges::count(kLaunchers, spec.name) > 0) continue;
    StrAppend(&line, separator, "--", spec.name, "=", ShellWord(FormatValue(Load(&options, spec))));
  }
  return line;
}

}  // namespace dtnn
