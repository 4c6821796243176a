// The words of types of options, for programs that read and print them. They stand beside the type:
//
//   enum class Colour : uint8_t { kRed, kBlue };
//   constexpr auto WordsOf(Colour) {
//     return std::to_array<OptionWord<Colour>>({{Colour::kRed, "red"}, {Colour::kBlue, "blue"}});
//   }

#ifndef DTNN_MODELS_RUN_OPTIONS_OPTION_WORDS_H_
#define DTNN_MODELS_RUN_OPTIONS_OPTION_WORDS_H_

#include <array>  // IWYU pragma: export
#include <optional>
#include <string_view>

namespace dtnn {

template <class E>
struct OptionWord {
  E value;
  std::string_view word;  // of several of one value, the first is printed
};

// Empty for a value that has none.
template <class E>
constexpr std::string_view WordFor(E value) {
  for (const auto& known : WordsOf(E())) {
    if (known.value == value) return known.word;
  }
  return {};
}

template <class E>
constexpr std::optional<E> ValueOfWord(std::string_view word) {
  for (const auto& known : WordsOf(E())) {
    if (known.word == word) return known.value;
  }
  return std::nullopt;
}

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_OPTIONS_OPTION_WORDS_H_
