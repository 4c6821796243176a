#include "apps/help/values.h"

#include "apps/flags/value.h"

namespace dtnn {

OptionValues ValuesOf(const OptionSpec& spec, const NamesOf& names) {
  OptionValues values = {.optional = spec.is_switch(),
                         .list = spec.type == OptionType::kWords,
                         .paths = spec.type == OptionType::kPath || spec.unit == "file"};
  if (spec.type == OptionType::kBool) {
    values.words = {"True", "False"};
    return values;
  }
  for (const std::string_view word : SplitList(spec.words)) values.words.emplace_back(word);
  if (spec.type == OptionType::kMetric) {
    for (const std::string_view word : SplitList(spec.words)) {
      values.words.push_back("val_" + std::string(word));
    }
  }
  if (names) {
    for (std::string& name : names(spec.name)) values.words.push_back(std::move(name));
  }
  if (spec.on_list != Action::kRun) values.words.emplace_back("list");
  return values;
}

}  // namespace dtnn
