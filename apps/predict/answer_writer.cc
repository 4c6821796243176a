#include "apps/predict/answer_writer.h"

#include "absl/strings/str_format.h"
#include "tensor/text/json_text.h"
#include "tensor/text/one_line.h"

namespace dtnn {
namespace {

std::string CsvText(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace

AnswerWriter::AnswerWriter(std::string_view format, std::optional<OutputKind> kind,
                           std::ostream& out)
    : format_(format == "csv"    ? Format::kCsv
              : format == "json" ? Format::kJson
                                 : Format::kText),
      kind_(kind),
      out_(out) {
  if (format_ == Format::kCsv) {
    out_ << (!kind_                         ? "file,mask\n"
             : kind_ == OutputKind::kValues ? "file,output,name,value\n"
                                            : "file,rank,class,probability\n");
  }
  if (format_ == Format::kJson) out_ << "[";
}

void AnswerWriter::Write(const std::string& file, std::span<const Prediction> best) {
  switch (format_) {
    case Format::kText:
      return WriteText(file, best);
    case Format::kCsv:
      return WriteCsv(file, best);
    case Format::kJson:
      return WriteJson(file, best);
  }
}

void AnswerWriter::WriteMask(const std::string& file, const std::string& mask) {
  switch (format_) {
    case Format::kText:
      out_ << OneLine(file) << ": " << OneLine(mask) << "\n";
      return;
    case Format::kCsv:
      out_ << CsvText(file) << "," << CsvText(mask) << "\n";
      return;
    case Format::kJson:
      BeginJsonItem(file);
      out_ << "\"mask\": " << JsonText(mask) << "}";
      return;
  }
}

void AnswerWriter::WriteError(const std::string& file, std::string_view error) {
  if (format_ != Format::kJson) return;
  BeginJsonItem(file);
  out_ << "\"error\": " << JsonText(error) << "}";
}

void AnswerWriter::Finish() {
  if (format_ == Format::kJson) out_ << "\n]\n";
}

void AnswerWriter::WriteText(const std::string& file, std::span<const Prediction> best) {
  std::string line;
  for (const Prediction& prediction : best) {
    if (!line.empty()) line += ", ";
    line += kind_ == OutputKind::kValues
                ? absl::StrFormat("%s %.6g", prediction.name, prediction.value)
                : absl::StrFormat("%s %.2f %%", prediction.name, 100 * prediction.value);
  }
  if (line.empty()) line = "no label";
  out_ << OneLine(file) << ": " << OneLine(line) << "\n";
}

void AnswerWriter::WriteCsv(const std::string& file, std::span<const Prediction> best) {
  int64_t rank = 0;
  for (const Prediction& prediction : best) {
    ++rank;
    out_ << CsvText(file) << "," << (kind_ == OutputKind::kValues ? prediction.index : rank) << ","
         << CsvText(prediction.name) << "," << JsonNumber(prediction.value) << "\n";
  }
}

void AnswerWriter::WriteJson(const std::string& file, std::span<const Prediction> best) {
  BeginJsonItem(file);
  out_ << "\"predictions\": " << PredictionsJson(*kind_, best) << "}";
}

void AnswerWriter::BeginJsonItem(const std::string& file) {
  out_ << (empty_ ? "\n" : ",\n") << "{\"file\": " << JsonText(file) << ", ";
  empty_ = false;
}

}  // namespace dtnn
