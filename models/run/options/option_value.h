// The value of any member of RunOptions, as programs set and print it. None (std::monostate): not
// set. A member whose type has words (option_words.h) is one of them; of another type are AsOption
// and FromOption beside it.

#ifndef DTNN_MODELS_RUN_OPTIONS_OPTION_VALUE_H_
#define DTNN_MODELS_RUN_OPTIONS_OPTION_VALUE_H_

#include <cassert>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "models/run/options/option_words.h"

namespace dtnn {

using OptionValue =
    std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<std::string>,
                 std::vector<int64_t>, std::vector<double>>;

// "True", "5", "0.001", "1e-07", "a,b", "None".
std::string FormatValue(const OptionValue& value);

// An empty text, and an empty list of numbers, is None.
template <class T>
OptionValue ToValue(const T& member) {
  if constexpr (requires { WordsOf(T()); }) {
    return std::string(WordFor(member));
  } else if constexpr (requires {
                         *member;
                         typename T::value_type;
                       }) {
    return member ? ToValue(*member) : OptionValue();
  } else if constexpr (std::is_class_v<T> && requires { AsOption(member); }) {
    return ToValue(AsOption(member));
  } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::vector<int64_t>> ||
                       std::is_same_v<T, std::vector<double>>) {
    return member.empty() ? OptionValue() : OptionValue(member);
  } else {
    return member;
  }
}

// A list of words fits into a text, None into all that can be empty.
template <class T>
void Assign(const OptionValue& value, T& member) {
  if constexpr (requires { WordsOf(T()); }) {
    member = ValueOfWord<T>(std::get<std::string>(value)).value_or(T());
  } else if constexpr (requires {
                         *member;
                         typename T::value_type;
                       }) {
    if (std::holds_alternative<std::monostate>(value)) {
      member = std::nullopt;
    } else {
      typename T::value_type inner = {};
      Assign(value, inner);
      member = std::move(inner);
    }
  } else if constexpr (std::is_class_v<T> && requires { AsOption(member); }) {
    auto form = AsOption(member);
    Assign(value, form);
    FromOption(form, member);
  } else if constexpr (std::is_same_v<T, bool>) {
    const std::string* const word = std::get_if<std::string>(&value);
    member = word != nullptr ? *word == "True" : std::get<bool>(value);
  } else if (std::holds_alternative<T>(value)) {
    member = std::get<T>(value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    member = std::holds_alternative<std::monostate>(value) ? "" : FormatValue(value);
  } else {
    assert(std::holds_alternative<std::monostate>(value));
    member = T();
  }
}

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_OPTIONS_OPTION_VALUE_H_
