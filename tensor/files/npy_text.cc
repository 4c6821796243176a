#include "tensor/files/npy_text.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "tensor/errors.h"

namespace dtnn {
namespace {

bool IsUnicode(uint32_t code) { return code <= 0x10ffff && (code < 0xd800 || code > 0xdfff); }

void AppendUtf8(uint32_t code, std::string* text) {
  const auto tail = [&](int shift) { text->push_back(char(0x80 | (code >> shift & 0x3f))); };
  if (code < 0x80) return text->push_back(char(code));
  if (code < 0x800) {
    text->push_back(char(0xc0 | code >> 6));
  } else if (code < 0x10000) {
    text->push_back(char(0xe0 | code >> 12));
    tail(6);
  } else {
    text->push_back(char(0xf0 | code >> 18));
    tail(12);
    tail(6);
  }
  tail(0);
}

// The characters of a text, or nullopt where it is not valid UTF-8 (or the long form of a code).
std::optional<std::vector<uint32_t>> DecodeUtf8(std::string_view text) {
  std::vector<uint32_t> codes;
  for (size_t i = 0; i < text.size();) {
    const uint8_t lead = uint8_t(text[i++]);
    if (lead >= 0x80 && (lead < 0xc2 || lead > 0xf4)) return std::nullopt;
    const int tails = lead < 0x80 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    uint32_t code = tails == 0 ? lead : lead & (0x3f >> tails);
    for (int t = 0; t < tails; ++t, ++i) {
      if (i == text.size() || (uint8_t(text[i]) & 0xc0) != 0x80) return std::nullopt;
      code = code << 6 | (uint8_t(text[i]) & 0x3f);
    }
    static constexpr uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
    if (code < kLeast[tails] || !IsUnicode(code)) return std::nullopt;
    codes.push_back(code);
  }
  return codes;
}

uint32_t LoadCode(std::string_view bytes, bool big_endian) {
  uint32_t code = 0;
  for (int i = 0; i < 4; ++i) code |= uint32_t(uint8_t(bytes[i])) << 8 * (big_endian ? 3 - i : i);
  return code;
}

}  // namespace

absl::StatusOr<std::string> ParseNpyText(NpySource read, int64_t size, std::string_view name) {
  DTNN_ASSIGN_OR_RETURN(const NpyHeader header,
                        ReadNpyHeader(read, size, name, NpyElements::kText));
  if (header.shape.rank() > 1 || header.shape.NumElements() != 1) {
    return InvalidArgument(name, ": contains texts of shape ", header.shape.ToString(),
                           ", expected a single one");
  }
  std::string bytes(header.item_size, '\0');  // at most 32 MiB: the header's parser saw to it
  DTNN_RETURN_IF_ERROR(read(std::as_writable_bytes(std::span(bytes))));
  std::string text;
  if (!header.utf32) {
    text = std::move(bytes);
  } else {
    for (size_t i = 0; i < bytes.size(); i += 4) {
      const uint32_t code = LoadCode(std::string_view(bytes).substr(i, 4), header.big_endian);
      if (!IsUnicode(code)) {
        return InvalidArgument(name, ": character ", i / 4, " of its text (0x", absl::Hex(code),
                               ") is not valid Unicode");
      }
      AppendUtf8(code, &text);
    }
  }
  text.resize(text.find_last_not_of('\0') + 1);
  return text;
}

absl::StatusOr<std::string> SerializeNpyText(std::string_view text, std::string_view name) {
  const std::optional<std::vector<uint32_t>> codes = DecodeUtf8(text);
  if (!codes.has_value()) {
    return InvalidArgument(name, ": the text to write is not valid UTF-8");
  }
  if (codes->size() > NpyHeader::kMostCharacters) {
    return InvalidArgument(name, ": the text to write has ", codes->size(), " characters; at most ",
                           size_t{NpyHeader::kMostCharacters}, " can be read again");
  }
  const size_t width = std::max<size_t>(1, codes->size());  // numpy knows no narrower ones
  std::string bytes = NpyHeaderBytes(StrCat("<U", width), Shape{});
  const size_t begin = bytes.size();
  bytes.resize(begin + 4 * width, '\0');
  for (size_t i = 0; i < codes->size(); ++i) {
    for (int b = 0; b < 4; ++b) bytes[begin + 4 * i + size_t(b)] = char((*codes)[i] >> 8 * b);
  }
  return bytes;
}

}  // namespace dtnn
