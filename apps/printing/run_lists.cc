#include "apps/printing/run_lists.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "apps/flags/option_table.h"
#include "apps/flags/value.h"
#include "apps/printing/command_line.h"
#include "apps/printing/parameter_list.h"

namespace dtnn {
namespace {

constexpr std::string_view kAlways[] = {"model",     "dataset",       "batch-size",
                                        "optimizer", "learning-rate", "random-seed"};

Hyperparameter ToHyperparameter(const Value& value) {
  if (const bool* flag = std::get_if<bool>(&value)) return *flag;
  if (const int64_t* number = std::get_if<int64_t>(&value)) return double(*number);
  if (const double* number = std::get_if<double>(&value)) return *number;
  return FormatValue(value);
}

bool IsHyperparameter(const OptionSpec& spec, const GivenOptions& given) {
  const bool always = std::ranges::find(kAlways, spec.name) != std::end(kAlways);
  const bool file = spec.type == OptionType::kPath || spec.unit == "file";
  return !file && (always || given.contains(spec.name));
}

// The options of the launcher, of which those of the run are `run`.
Options With(const Options& given, const RunOptions& run) {
  Options options = given;
  static_cast<RunOptions&>(options) = run;
  return OptionsInForce(std::move(options));
}

}  // namespace

RunListing ListingOf(const Options& given) {
  return {.parameters =
              [&given](const RunOptions& run, const RunFacts& facts, bool all) {
                const Options options = With(given, run);
                return all ? FormatParameterList(options, facts)
                           : FormatShortParameterList(options, facts);
              },
          .command =
              [&given](int64_t ranks, std::string_view separator) {
                return CommandLineOf(given, int(ranks), separator);
              },
          .values =
              [&given](const RunOptions& run) {
                const Options options = With(given, run);
                std::vector<std::pair<std::string, std::string>> values;
                for (const OptionSpec& spec : OptionTable()) {
                  values.emplace_back(spec.name, FormatValue(Load(&options, spec)));
                }
                return values;
              },
          .hyperparameters =
              [&given](const RunOptions& run) {
                const Options options = With(given, run);
                std::vector<std::pair<std::string, Hyperparameter>> values;
                for (const OptionSpec& spec : OptionTable()) {
                  if (!IsHyperparameter(spec, given.given)) continue;
                  values.emplace_back(spec.name, ToHyperparameter(Load(&options, spec)));
                }
                return values;
              }};
}

}  // namespace dtnn
