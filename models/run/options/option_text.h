// Values of options as text, as lists of options and checkpoints have them, and comma lists.

#ifndef DTNN_MODELS_RUN_OPTIONS_OPTION_TEXT_H_
#define DTNN_MODELS_RUN_OPTIONS_OPTION_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dtnn {

// "True", "5", "0.001", "1e-07", "a,b"; "None" for an empty text. A real number is the shortest
// text that reads back as the same number, with an exponent only below 1e-4 and from 1e16 on.
std::string ToText(bool value);
std::string ToText(int64_t value);
std::string ToText(double value);
std::string ToText(const std::string& value);
std::string ToText(const std::vector<std::string>& values);

// A list separated by commas, without blanks around items and without empty items.
std::vector<std::string_view> SplitList(std::string_view list);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_OPTIONS_OPTION_TEXT_H_
