// Any bytes as a file of options: the reader must answer with arguments that the parser takes each,
// or with a usage error of one line.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "apps/flags/arguments.h"
#include "apps/flags/parser.h"
#include "apps/options_file/options_file.h"
#include "comm/ranks/job/exit_code.h"
#include "tensor/text/nearest.h"

namespace dtnn {
namespace {

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "options_file_fuzz: %s\n", what);
  std::abort();
}

void TestOne(std::string_view text) {
  const absl::StatusOr<std::vector<std::string>> arguments = ParseOptions(text, "run.yaml");
  if (!arguments.ok()) {
    const std::string message(arguments.status().message());
    Require(ExitCodeOf(arguments.status()) == kExitUsage, "an error is not a usage error");
    Require(message.starts_with("run.yaml:"), "an error names no line");
    Require(OneLine(message) == message, "a message is not one printable line");
    return;
  }
  Require(ParseArguments(*arguments, FlagSyntax()).ok(), "what was understood is refused");
}

}  // namespace
}  // namespace dtnn

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dtnn::TestOne(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
