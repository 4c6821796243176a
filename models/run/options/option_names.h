// A list of names that may be not set, for options: {} is a list without names, std::nullopt none.
//
//   OptionNames metrics = std::nullopt;
//   metrics = {"f1_score", "recall"};

#ifndef DTNN_MODELS_RUN_OPTIONS_OPTION_NAMES_H_
#define DTNN_MODELS_RUN_OPTIONS_OPTION_NAMES_H_

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dtnn {

class OptionNames {
 public:
  using value_type = std::vector<std::string>;

  OptionNames(std::nullopt_t) {}  // NOLINT: from nothing
  OptionNames(std::initializer_list<std::string> names) : names_(names) {}
  OptionNames(value_type names) : names_(std::move(names)) {}  // NOLINT: from names

  explicit operator bool() const { return names_.has_value(); }
  const value_type& operator*() const { return *names_; }
  value_type value_or(value_type names) const { return names_.value_or(std::move(names)); }

  friend bool operator==(const OptionNames&, const OptionNames&) = default;

 private:
  std::optional<value_type> names_;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_OPTIONS_OPTION_NAMES_H_
