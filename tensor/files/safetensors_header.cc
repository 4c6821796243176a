#include "tensor/files/safetensors_header.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "nlohmann/json.hpp"
#include "tensor/errors.h"
#include "tensor/text/json_text.h"

namespace dtnn {
namespace {

constexpr std::string_view kMetadata = "__metadata__";

// Receives the pieces of the JSON text as they come, so that no tree is built and nothing recurs.
// A member function that returns false ends the parse; `error` then says why.
class HeaderBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool start_object(std::size_t) override {
    if (Ignored()) return ++ignored_depth_ > 0;
    if (depth_ == 0) return Enter();
    if (depth_ > 1 || array_ != nullptr) return Fail("an object where none belongs");
    if (key_ == kMetadata) {
      in_metadata_ = true;
    } else {
      header.entries.push_back({.name = key_, .dtype = {}, .shape = {}});
      fields_.clear();
      offsets_.clear();
    }
    return Enter();
  }

  bool end_object() override {
    if (ignored_depth_ > 0) return --ignored_depth_ >= 0;
    --depth_;
    if (depth_ != 1 || std::exchange(in_metadata_, false)) return true;
    SafetensorsEntry& entry = header.entries.back();
    if (fields_.size() != 3) {
      return Fail("no dtype, shape and data_offsets for tensor " + Quoted(entry.name));
    }
    if (offsets_.size() != 2) {
      return Fail("data_offsets that are not a pair for tensor " + Quoted(entry.name));
    }
    entry.begin = offsets_[0];
    entry.end = offsets_[1];
    return true;
  }

  bool key(std::string& name) override {
    if (ignored_depth_ > 0) return true;
    if (depth_ == 2 && !in_metadata_ && !IsField(name)) {
      key_ = std::move(name);
      return true;
    }
    std::set<std::string, std::less<>>& seen = depth_ == 1    ? names_
                                               : in_metadata_ ? metadata_keys_
                                                              : fields_;
    if (!seen.insert(name).second) return Fail("the key " + Quoted(name) + " twice");
    key_ = std::move(name);
    return true;
  }

  bool string(std::string& text) override {
    if (Ignored()) return true;
    if (depth_ == 2 && in_metadata_) {
      header.metadata.emplace_back(key_, std::move(text));
      return true;
    }
    if (depth_ != 2 || array_ != nullptr || key_ != "dtype") return Misplaced("a text");
    header.entries.back().dtype = std::move(text);
    return true;
  }

  bool start_array(std::size_t) override {
    if (Ignored()) return ++ignored_depth_ > 0;
    const bool known = key_ == "shape" || key_ == "data_offsets";
    if (depth_ != 2 || in_metadata_ || array_ != nullptr || !known) return Misplaced("a list");
    array_ = key_ == "shape" ? &header.entries.back().shape : &offsets_;
    return true;
  }

  bool end_array() override {
    if (ignored_depth_ > 0) return --ignored_depth_ >= 0;
    array_ = nullptr;
    return true;
  }

  bool number_unsigned(uint64_t value) override {
    if (Ignored()) return true;
    if (array_ == nullptr) return Misplaced("a number");
    if (value > uint64_t{INT64_MAX}) return Fail("a number beyond 63 bits");
    array_->push_back(int64_t(value));
    return true;
  }

  bool null() override { return (depth_ == 1 && key_ == kMetadata) || IgnoredOr("null"); }
  bool boolean(bool) override { return IgnoredOr("true or false"); }
  bool number_integer(int64_t) override { return IgnoredOr("a negative number"); }
  bool number_float(double, const std::string&) override {
    return IgnoredOr("a number that is not whole or too large");
  }
  bool binary(nlohmann::json::binary_t&) override { return Misplaced("binary data"); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    return Fail(StrCat("no valid JSON at byte ", position));
  }

  SafetensorsHeader header;
  std::string error;

 private:
  bool Enter() {
    ++depth_;
    return true;
  }
  bool Fail(std::string what) {
    if (error.empty()) error = std::move(what);
    return false;
  }
  static bool IsField(std::string_view name) {
    return name == "dtype" || name == "shape" || name == "data_offsets";
  }
  // Inside the value of a field of a tensor that is not known.
  bool Ignored() const { return depth_ == 2 && !in_metadata_ && !IsField(key_); }
  bool IgnoredOr(std::string_view what) { return Ignored() || Misplaced(what); }
  bool Misplaced(std::string_view what) {
    return Fail(StrCat(what, " where it does not belong",
                       key_.empty() ? "" : ", after the key " + Quoted(key_)));
  }

  int depth_ = 0;
  int64_t ignored_depth_ = 0;
  bool in_metadata_ = false;
  std::string key_;
  std::vector<int64_t>* array_ = nullptr;  // the list that is being read
  std::vector<int64_t> offsets_;
  std::set<std::string, std::less<>> names_, metadata_keys_, fields_;
};

// Bits of one element; nullopt for an unknown type.
std::optional<int64_t> ElementBits(std::string_view dtype) {
  static constexpr std::pair<std::string_view, int64_t> kBits[] = {
      {"F4", 4},          {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"BOOL", 8},    {"U8", 8},
      {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
      {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
      {"I32", 32},        {"U32", 32},    {"F32", 32},    {"I64", 64},    {"U64", 64},
      {"F64", 64},        {"C64", 64}};
  for (const auto& [name, bits] : kBits) {
    if (name == dtype) return bits;
  }
  return std::nullopt;
}

absl::Status CheckEntry(const SafetensorsEntry& entry, int64_t data_bytes, std::string_view file) {
  const auto refused = [&](const auto&... what) {
    return InvalidArgument(file, ": tensor ", Quoted(entry.name), " ", what...);
  };
  if (entry.begin > entry.end || entry.end > data_bytes) {
    return refused("is in bytes ", entry.begin, " to ", entry.end, " of ", data_bytes,
                   "; is the file complete?");
  }
  const std::optional<int64_t> bits = ElementBits(entry.dtype);
  if (!bits) return absl::OkStatus();  // is refused when it is read; the others need not suffer
  int64_t bytes = *bits;
  for (int64_t extent : entry.shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) {
      return refused("has a shape of more bits than 63 bits can count");
    }
  }
  if (bytes % 8 != 0) return refused("of dtype ", entry.dtype, " does not fill its last byte");
  bytes /= 8;
  if (bytes != entry.end - entry.begin) {
    return refused("of ", bytes, " bytes by its shape and dtype (", entry.dtype, ") has ",
                   entry.end - entry.begin, " in the file");
  }
  return absl::OkStatus();
}

void AppendList(const std::vector<int64_t>& values, std::string* json) {
  *json += "[";
  for (size_t i = 0; i < values.size(); ++i) StrAppend(json, i == 0 ? "" : ",", values[i]);
  *json += "]";
}

}  // namespace

absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(std::string_view json, int64_t data_bytes,
                                                         std::string_view file) {
  const auto refused = [&](const auto&... what) {
    return InvalidArgument(file, ": its header has ", what...,
                           ", so it is not a .safetensors file");
  };
  if (!json.starts_with('{')) return refused("no JSON object");
  // Where the parser would stop.
  if (const size_t at = json.find('\0'); at != json.npos) return refused("a NUL at byte ", at);
  HeaderBuilder builder;
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &builder)) return refused(builder.error);
  SafetensorsHeader header = std::move(builder.header);

  for (const SafetensorsEntry& entry : header.entries) {
    DTNN_RETURN_IF_ERROR(CheckEntry(entry, data_bytes, file));
  }
  std::ranges::stable_sort(header.entries, {}, [](const SafetensorsEntry& entry) {
    return std::pair(entry.begin, entry.end);
  });
  int64_t end = 0;
  for (const SafetensorsEntry& entry : header.entries) {
    if (entry.begin != end) {
      return InvalidArgument(file, ": tensor ", Quoted(entry.name), " begins at byte ", entry.begin,
                             entry.begin < end ? ", inside the tensor before it"
                                               : ", after bytes that belong to no tensor");
    }
    end = entry.end;
  }
  if (end != data_bytes) {
    return InvalidArgument(file, ": ", data_bytes - end, " bytes follow the last tensor");
  }
  return header;
}

std::string FormatSafetensorsHeader(const SafetensorsHeader& header) {
  std::string json = "{";
  std::string_view comma = "";
  if (!header.metadata.empty()) {
    StrAppend(&json, JsonText(kMetadata), ":");
    std::string_view separator = "{";
    for (const auto& [name, text] : header.metadata) {
      json += separator;
      StrAppend(&json, JsonText(name), ":", JsonText(text));
      separator = ",";
    }
    json += "}";
    comma = ",";
  }
  for (const SafetensorsEntry& entry : header.entries) {
    json += comma;
    StrAppend(&json, JsonText(entry.name), ":{\"dtype\":", JsonText(entry.dtype), ",\"shape\":");
    AppendList(entry.shape, &json);
    json += ",\"data_offsets\":";
    AppendList({entry.begin, entry.end}, &json);
    json += "}";
    comma = ",";
  }
  return json + "}";
}

}  // namespace dtnn
