// Any bytes as a command line, one argument per line: the parser must answer with valid options or
// with a one-line usage error, and must say the same about what it understood when it reads it
// again.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "apps/flags/help.h"
#include "apps/flags/option_table.h"
#include "apps/flags/parser.h"
#include "apps/flags/value.h"
#include "comm/ranks/job/exit_code.h"

namespace dtnn {
namespace {

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "flags_fuzz: %s\n", what);
  std::abort();
}

std::vector<std::string> SplitLines(const uint8_t* data, size_t size) {
  std::vector<std::string> lines;
  const char* begin = reinterpret_cast<const char*>(data);
  const char* end = begin + size;
  for (const char* c = begin; c != end; ++c) {
    if (*c == '\n') {
      lines.emplace_back(begin, c);
      begin = c + 1;
    }
  }
  if (begin != end) lines.emplace_back(begin, end);
  return lines;
}

void RequireOneLine(const absl::Status& status) {
  const std::string message(status.message());
  Require(ExitCodeOf(status) == kExitUsage, "an error is not a usage error");
  Require(!message.empty() && message.size() < 2000, "a message is empty or too long");
  Require(OneLine(message) == message, "a message is not one printable line");
}

// The options of `options` that are set, spelled out one by one.
std::vector<std::string> Spell(const Options& options) {
  std::vector<std::string> arguments;
  for (const OptionSpec& spec : OptionTable()) {
    const std::string value = FormatValue(Load(&options, spec));
    if (value == "None" && DefaultText(spec) != "None") continue;
    arguments.push_back("--" + std::string(spec.name) + "=" + value);
  }
  return arguments;
}

void TestOne(const uint8_t* data, size_t size) {
  const absl::StatusOr<CommandLine> parsed = ParseFlags(SplitLines(data, size));
  if (!parsed.ok()) return RequireOneLine(parsed.status());
  if (parsed->action == Action::kHelp) {
    const absl::StatusOr<std::string> help = HelpText("fuzz", parsed->help_topic);
    if (!help.ok()) RequireOneLine(help.status());
    return;
  }
  if (parsed->action != Action::kRun) return;
  Require(BatchSizePerRank(parsed->options).value() > 0, "a batch without samples");
  absl::StatusOr<CommandLine> again = ParseFlags(Spell(parsed->options));
  Require(again.ok(), "what was understood is refused when spelled out");
  again->options.given = parsed->options.given;  // of all others too
  Require(again->options == parsed->options, "what was understood changes when spelled out");
}

}  // namespace
}  // namespace dtnn

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dtnn::TestOne(data, size);
  return 0;
}
