#include "models/graph/proto_text.h"

#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/text_format.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr int kMostDepth = 16;

// Keeps the first mistake.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    if (text_.empty()) text_ = StrCat("line ", line + 1, ", column ", column + 1, ": ", message);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

std::string ProtoText(const google::protobuf::Message& message) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseShortRepeatedPrimitives(true);
  std::string text;
  printer.PrintToString(message, &text);
  return text;
}

absl::Status ParseProtoText(std::string_view text, google::protobuf::Message& message) {
  if (text.size() > kMostProtoText) {
    return InvalidArgument("has ", text.size(), " bytes; at most ", kMostProtoText, " are allowed");
  }
  google::protobuf::TextFormat::Parser parser;
  FirstError error;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(kMostDepth);
  google::protobuf::io::ArrayInputStream stream(text.data(), int(text.size()));
  if (parser.Parse(&stream, &message)) return absl::OkStatus();
  return absl::InvalidArgumentError(error.text().empty() ? "is not a message" : error.text());
}

}  // namespace dtnn
