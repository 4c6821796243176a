// The options that a layer is made with, as names and values, so that files can hold them and
// programs can read them without knowing the layer.
//
// Layer::attributes() lists them, and an AttributeReader takes them apart again when a layer is
// made of them (layers/table/layer_table.h). Values are whole numbers, real numbers, texts, and
// lists of whole numbers; a switch is 0 or 1, a pair a list of two: (vertical, horizontal).

#ifndef DTNN_LAYERS_BASE_ATTRIBUTES_H_
#define DTNN_LAYERS_BASE_ATTRIBUTES_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "kernels/operands/pair.h"

namespace dtnn {

using Attribute = std::variant<int64_t, double, std::string, std::vector<int64_t>>;
using Attributes = std::vector<std::pair<std::string, Attribute>>;

Attribute PairAttribute(const Pair& pair);

// Every attribute must be there, once, with a value of its kind, and none may be left over. The
// first mistake is kept and returned by Done; until then what cannot be read is 0 or empty.
class AttributeReader {
 public:
  // `attributes` must outlive the reader.
  explicit AttributeReader(const Attributes& attributes);

  // For attributes that only some layers of a type have: those of later versions.
  bool Has(std::string_view name) const;
  int64_t Int(std::string_view name);
  double Real(std::string_view name);  // a whole number too
  bool Switch(std::string_view name);
  Pair TwoInts(std::string_view name);
  // A text that `parse` makes an optional value of: nullopt is a mistake.
  template <typename Parse>
  auto Word(std::string_view name, const Parse& parse) {
    using Value = typename std::invoke_result_t<Parse, std::string_view>::value_type;
    const std::string text = Text(name);
    const std::optional<Value> value = parse(text);
    if (!value.has_value()) RefuseWord(name, text);
    return value.value_or(Value{});
  }

  // InvalidArgument that names the attribute.
  absl::Status Done();

 private:
  const Attribute* Find(std::string_view name);
  std::string Text(std::string_view name);
  void RefuseWord(std::string_view name, std::string_view text);
  // `expected`: "a whole number".
  void Refuse(std::string_view name, const Attribute& value, std::string_view expected);
  void Fail(std::string_view name, std::string_view mistake);

  const Attributes& attributes_;
  std::set<std::string, std::less<>> known_;  // that were asked for
  absl::Status status_;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_BASE_ATTRIBUTES_H_
