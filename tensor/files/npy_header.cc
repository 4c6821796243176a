#include "tensor/files/npy_header.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "tensor/errors.h"
#include "tensor/text/number.h"

namespace dtnn {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

template <typename... Pieces>
absl::Status Broken(std::string_view name, const Pieces&... what) {
  return InvalidArgument(name, ": ", what..., ", so it is not a valid .npy array");
}

std::string Quote(std::string_view text) { return Quoted(text, 40); }

// Reads the few kinds of Python literals that a header is made of. Every function skips blanks
// first; those that return nullopt or false leave the position where the unfit text begins.
class LiteralReader {
 public:
  explicit LiteralReader(std::string_view text) : rest_(text) {}

  bool Take(char expected) {
    SkipBlanks();
    if (rest_.empty() || rest_[0] != expected) return false;
    rest_.remove_prefix(1);
    return true;
  }

  char Peek() {
    SkipBlanks();
    return rest_.empty() ? '\0' : rest_[0];
  }

  bool AtEnd() {
    SkipBlanks();
    return rest_.empty();
  }

  // Text in single or double quotes; no header needs an escape, so a backslash is refused.
  std::optional<std::string_view> String() {
    const char quote = Peek();
    if (quote != '\'' && quote != '"') return std::nullopt;
    const size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view text = rest_.substr(1, end - 1);
    if (text.find_first_of("\\\n") != std::string_view::npos) return std::nullopt;
    rest_.remove_prefix(end + 1);
    return text;
  }

  std::optional<bool> Bool() {
    SkipBlanks();
    for (bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (rest_.substr(0, word.size()) == word) {
        rest_.remove_prefix(word.size());
        return value;
      }
    }
    return std::nullopt;
  }

  // A decimal number that fits 64 bits, with the L that Python 2 wrote behind long ones.
  std::optional<int64_t> Integer() {
    SkipBlanks();
    const size_t sign = !rest_.empty() && rest_[0] == '-';
    size_t end = sign;
    while (end < rest_.size() && rest_[end] >= '0' && rest_[end] <= '9') ++end;
    const std::optional<int64_t> value = NumberIn<int64_t>(rest_.substr(0, end));
    if (!value) return std::nullopt;
    rest_.remove_prefix(end);
    if (!rest_.empty() && rest_[0] == 'L') rest_.remove_prefix(1);
    return value;
  }

  // (), (3,), (3, 4) or (3, 4,); but (3) is a number in brackets.
  std::optional<std::vector<int64_t>> Tuple() {
    if (!Take('(')) return std::nullopt;
    std::vector<int64_t> values;
    bool comma = true;
    while (!Take(')')) {
      if (!comma) return std::nullopt;
      const std::optional<int64_t> value = Integer();
      if (!value.has_value()) return std::nullopt;
      values.push_back(*value);
      comma = Take(',');
    }
    if (values.size() == 1 && !comma) return std::nullopt;
    return values;
  }

  std::string_view rest() const { return rest_; }

 private:
  void SkipBlanks() {
    const size_t first = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(first == std::string_view::npos ? rest_.size() : first);
  }

  std::string_view rest_;
};

// Sets item size, byte order and encoding from a descr such as "<U5" or "|S5": five characters.
absl::Status SetTextType(std::string_view descr, std::string_view name, NpyHeader* header) {
  const std::string_view order = descr.substr(0, 1), kind = descr.substr(0, 2).substr(order.size());
  const std::string_view digits = descr.substr(std::min<size_t>(descr.size(), 2));
  const std::optional<size_t> size = NumberIn<size_t>(digits);
  header->utf32 = kind == "U";
  const bool known = header->utf32 ? order == "<" || order == ">" : kind == "S" && order == "|";
  if (!known || !size) {
    return InvalidArgument(name, ": has dtype ", Quote(descr), ", expected a text");
  }
  header->item_size = *size;
  if (header->item_size > NpyHeader::kMostCharacters) {
    return Broken(name, "its text claims ", header->item_size, " characters (at most ",
                  size_t{NpyHeader::kMostCharacters}, " are allowed)");
  }
  if (header->utf32) header->item_size *= 4;
  header->big_endian = order == ">";
  return absl::OkStatus();
}

// Sets dtype, item size and byte order from a descr such as "<f4".
absl::Status SetType(std::string_view descr, std::string_view name, NpyElements elements,
                     NpyHeader* header) {
  struct Known {
    std::string_view code;
    DType dtype;
    size_t size;
  };
  static constexpr Known kKnown[] = {
      {"f2", DType::kFloat32, 2}, {"f4", DType::kFloat32, 4}, {"f8", DType::kFloat64, 8},
      {"b1", DType::kInt32, 1},   {"u1", DType::kUint8, 1},   {"u2", DType::kInt32, 2},
      {"u4", DType::kInt64, 4},   {"u8", DType::kInt64, 8},   {"i1", DType::kInt32, 1},
      {"i2", DType::kInt32, 2},   {"i4", DType::kInt32, 4},   {"i8", DType::kInt64, 8}};
  const char order = descr.empty() ? '\0' : descr[0];
  const bool ordered = order == '<' || order == '>' || order == '|' || order == '=';
  const std::string_view code = ordered ? descr.substr(1) : descr;
  if (code.substr(0, 1) == "O") {
    return Unimplemented(
        name, ": contains Python objects (dtype ", Quote(descr),
        "); pickled objects are never loaded, because loading them can run any program. "
        "Save plain arrays of numbers instead");
  }
  if (elements == NpyElements::kText) return SetTextType(descr, name, header);
  for (const Known& known : kKnown) {
    if (code != known.code || (known.size == 1 ? !ordered : order != '<' && order != '>')) continue;
    header->dtype = known.dtype;
    header->kind = code[0];
    header->item_size = known.size;
    header->big_endian = order == '>';
    return absl::OkStatus();
  }
  const bool text = code.substr(0, 1) == "U" || code.substr(0, 1) == "S";
  return Unimplemented(name, ": dtype ", Quote(descr), text ? " (text)" : "",
                       " has no tensor here; float16, float32, float64, bool, and integers of 8, "
                       "16, 32 and 64 bits have");
}

std::string_view DescrOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return "<f4";
    case DType::kFloat64:
      return "<f8";
    case DType::kUint8:
      return "|u1";
    case DType::kInt32:
      return "<i4";
    case DType::kInt64:
      return "<i8";
    case DType::kFloat16:
      return "<f2";
    case DType::kBfloat16:
      return "<V2";  // numpy has no such number, and calls it two bytes
  }
  return "";
}

// Reads the value behind `key`.
absl::Status ParseValue(std::string_view key, LiteralReader& reader, std::string_view name,
                        NpyElements elements, NpyHeader* header) {
  if (key == "descr") {
    if (reader.Peek() == '[') {
      return Unimplemented(name, ": has a structured dtype; only plain arrays are read");
    }
    const std::optional<std::string_view> descr = reader.String();
    if (!descr.has_value()) return Broken(name, "its 'descr' is not a text");
    return SetType(*descr, name, elements, header);
  }
  if (key == "fortran_order") {
    const std::optional<bool> value = reader.Bool();
    if (!value.has_value()) return Broken(name, "its 'fortran_order' is neither True nor False");
    header->fortran_order = *value;
    return absl::OkStatus();
  }
  const std::optional<std::vector<int64_t>> extents = reader.Tuple();
  if (!extents.has_value()) {
    return Broken(name, "its 'shape' is not a tuple of 64-bit numbers");
  }
  const absl::StatusOr<Shape> shape = Shape::Make(*extents);
  if (!shape.ok()) return Broken(name, shape.status().message());
  header->shape = *shape;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<NpyPreamble> ParseNpyPreamble(std::string_view bytes, std::string_view name) {
  if (bytes.substr(0, kMagic.size()) != kMagic || bytes.size() < NpyPreamble::kMinSize) {
    return Broken(name, "it does not begin with \\x93NUMPY, a version and a length");
  }
  const int major = uint8_t(bytes[6]), minor = uint8_t(bytes[7]);
  if (major < 1 || major > 3 || minor != 0) {
    return Unimplemented(name, ": is of .npy version ", major, ".", minor,
                         "; 1.0, 2.0 and 3.0 can be read");
  }
  NpyPreamble preamble;
  const size_t digits = major == 1 ? 2 : 4;
  preamble.size = 8 + digits;
  if (bytes.size() < preamble.size) return Broken(name, "it ends inside its first 12 bytes");
  for (size_t i = 0; i < digits; ++i) {
    preamble.header_size |= size_t{uint8_t(bytes[8 + i])} << (8 * i);
  }
  if (preamble.header_size > NpyPreamble::kMaxHeader) {
    return Broken(name, "its header claims ", preamble.header_size, " bytes (at most ",
                  size_t{NpyPreamble::kMaxHeader}, " are allowed)");
  }
  return preamble;
}

absl::StatusOr<NpyHeader> ParseNpyDictionary(std::string_view text, std::string_view name,
                                             NpyElements elements) {
  static constexpr std::string_view kKeys[] = {"descr", "fortran_order", "shape"};
  NpyHeader header;
  bool seen[3] = {};
  LiteralReader reader(text);
  if (!reader.Take('{')) return Broken(name, "its header is not a dictionary");
  bool comma = true;
  while (!reader.Take('}')) {
    const std::optional<std::string_view> key = comma ? reader.String() : std::nullopt;
    if (!key.has_value() || !reader.Take(':')) {
      return Broken(name, "its header is not a dictionary at ", Quote(reader.rest()));
    }
    size_t k = 0;
    while (k < 3 && kKeys[k] != *key) ++k;
    if (k == 3) return Broken(name, "its header has the unknown key ", Quote(*key));
    if (seen[k]) return Broken(name, "its header has two keys ", Quote(*key));
    seen[k] = true;
    DTNN_RETURN_IF_ERROR(ParseValue(*key, reader, name, elements, &header));
    comma = reader.Take(',');
  }
  for (size_t k = 0; k < 3; ++k) {
    if (!seen[k]) return Broken(name, "its header has no key ", Quote(kKeys[k]));
  }
  if (!reader.AtEnd()) {
    return Broken(name, "its header continues with ", Quote(reader.rest()));
  }
  int64_t bytes;
  if (__builtin_mul_overflow(header.shape.NumElements(), int64_t(header.item_size), &bytes)) {
    return Broken(name, "its shape ", header.shape.ToString(),
                  " has more bytes than 63 bits can count");
  }
  return header;
}

absl::StatusOr<NpyHeader> ReadNpyHeader(NpySource read, int64_t size, std::string_view name,
                                        NpyElements elements) {
  const auto truncated = [&](std::string_view promise, int64_t bytes) {
    return InvalidArgument(name, ": ", promise, " ", bytes, " bytes, but there are ", size,
                           size < bytes ? "; is the file complete?" : "");
  };
  std::string text(NpyPreamble::kMaxSize, '\0');
  if (size < int64_t(text.size())) return truncated("an array has at least", int64_t(text.size()));
  DTNN_RETURN_IF_ERROR(read(std::as_writable_bytes(std::span(text))));
  DTNN_ASSIGN_OR_RETURN(const NpyPreamble preamble, ParseNpyPreamble(text, name));

  const int64_t data_begin = int64_t(preamble.size + preamble.header_size);
  if (size < data_begin) return truncated("its header promises", data_begin);
  const size_t known = text.size();
  if (data_begin < int64_t(known)) return ParseNpyDictionary("", name).status();
  text.resize(size_t(data_begin));
  DTNN_RETURN_IF_ERROR(read(std::as_writable_bytes(std::span(text).subspan(known))));
  DTNN_ASSIGN_OR_RETURN(
      const NpyHeader header,
      ParseNpyDictionary(std::string_view(text).substr(preamble.size), name, elements));
  if (size - data_begin != header.data_bytes()) {
    return InvalidArgument(
        name, ": header promises shape ", header.shape.ToString(), " (", header.data_bytes(),
        " bytes) but ", size - data_begin, " bytes follow it",
        size - data_begin < header.data_bytes() ? "; is the file complete?" : "");
  }
  return header;
}

std::string NpyHeaderBytes(DType dtype, const Shape& shape) {
  return NpyHeaderBytes(DescrOf(dtype), shape);
}

std::string NpyHeaderBytes(std::string_view descr, const Shape& shape) {
  std::string bytes(kMagic);
  bytes.append("\x01\x00??", 4);
  StrAppend(&bytes, "{'descr': '", descr, "', 'fortran_order': False, 'shape': ", shape.ToString(),
            ", }");
  bytes.append(63 - bytes.size() % 64, ' ');
  bytes.push_back('\n');
  const size_t length = bytes.size() - NpyPreamble::kMinSize;
  bytes[8] = char(length & 0xff);
  bytes[9] = char(length >> 8);
  return bytes;
}

}  // namespace dtnn
