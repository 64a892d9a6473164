#include "solvers/checkpoint/caffemodel_file.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/unknown_field_set.h>

#include <climits>
#include <cstring>

#include "core/config/v1_layers.h"
#include "core/error.h"
#include "core/file.h"

namespace gf {
namespace {

using google::protobuf::io::CodedInputStream;

// How a field's value is written: the lower three bits of the tag before it
// (protobuf.dev/programming-guides/encoding).
enum WireType { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

constexpr uint32_t Tag(uint32_t field) { return field << 3 | kLengthDelimited; }
constexpr uint32_t kLayer = Tag(NetParameter::kLayerFieldNumber);
constexpr uint32_t kV1Layers = Tag(NetParameter::kLayersFieldNumber);
constexpr int kV0Layer = 1;  // field of a V1LayerParameter

// Caffe also writes HDF5, whose files begin with this signature.
bool IsHdf5(const InputFile& file) {
  static const char kSignature[] = "\x89HDF\r\n\x1a\n";
  char start[8];
  return file.ReadAt(0, start, sizeof(start)) == sizeof(start) &&
         std::memcmp(start, kSignature, sizeof(start)) == 0;
}

// Whether a V1 layer holds one of the V0 format.
bool IsV0(const V1LayerParameter& layer) {
  const auto& unknown = layer.GetReflection()->GetUnknownFields(layer);
  for (int i = 0; i < unknown.field_count(); ++i) {
    if (unknown.field(i).number() == kV0Layer) return true;
  }
  return false;
}

// The fields of a NetParameter.
class Parser {
 public:
  Parser(const std::string& path, int size, CodedInputStream* in)
      : path_(path), size_(size), in_(in) {}

  void Run(const std::function<void(LayerParameter*)>& layer) {
    while (in_->CurrentPosition() < size_) {
      const uint32_t tag = in_->ReadTag();
      if (tag == kLayer || tag == kV1Layers) {
        if (layers_ > 0 && tag != form_) {
          ThrowUserError(path_,
                         ": has layers of two forms, \"layers\" (Caffe's V1 format) and \"layer\": "
                         "expected one of them");
        }
        form_ = tag;
        LayerParameter message = tag == kLayer ? ReadLayer<LayerParameter>() : ReadV1Layer();
        layer(&message);
      } else if (!Skip(tag)) {
        Fail(StrCat("byte ", in_->CurrentPosition(), " does not continue a NetParameter"));
      }
    }
    if (layers_ == 0) Fail("it has no layers");
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    ThrowUserError(path_, ": not a valid Caffe model (binary NetParameter): ", what,
                   ". Perhaps an incomplete download or copy?");
  }

  // The length that stands before a field, at most what is left of the file.
  int Length(const std::string& what) {
    uint32_t length = 0;
    if (!in_->ReadVarint32(&length)) Fail(StrCat(what, " is cut off"));
    const int left = size_ - in_->CurrentPosition();
    if (length > static_cast<uint32_t>(left)) {
      Fail(StrCat(what, " should have ", length, " bytes, but the file has ", left, " more"));
    }
    return static_cast<int>(length);
  }

  // Passes over the value of a field that is not read. False if there is none.
  bool Skip(uint32_t tag) {
    const uint32_t field = tag >> 3;
    uint64_t wide;
    uint32_t narrow;
    if (field == 0) return false;
    switch (tag & 7) {
      case kVarint:
        return in_->ReadVarint64(&wide);
      case kFixed64:
        return in_->ReadLittleEndian64(&wide);
      case kLengthDelimited:
        return in_->Skip(Length(StrCat("field ", field)));
      case kFixed32:
        return in_->ReadLittleEndian32(&narrow);
      default:  // groups, which Caffe's schema does not have
        return false;
    }
  }

  template <typename Message>
  Message ReadLayer() {
    const std::string what = StrCat("layer number ", ++layers_);
    const CodedInputStream::Limit limit = in_->PushLimit(Length(what));
    Message message;
    if (!message.MergePartialFromCodedStream(in_) || !in_->ConsumedEntireMessage() ||
        in_->BytesUntilLimit() != 0) {
      Fail(StrCat(what, " is damaged"));
    }
    in_->PopLimit(limit);
    return message;
  }

  LayerParameter ReadV1Layer() {
    auto old = ReadLayer<V1LayerParameter>();
    if (IsV0(old)) {
      ThrowUserError(path_,
                     ": is in Caffe's V0 format (\"layers\" with \"layer\" in them), which is not "
                     "read: upgrade it with Caffe's tool: upgrade_net_proto_binary ",
                     path_, " NEW.caffemodel");
    }
    return UpgradeV1Layer(&old);
  }

  const std::string path_;
  const int size_;
  CodedInputStream* in_;
  int layers_ = 0;
  uint32_t form_ = 0;  // tag of the layers, if there are any
};

}  // namespace

void ReadCaffeModel(const std::string& path, const std::function<void(LayerParameter*)>& layer) {
  const InputFile file(path);
  // Protobuf's messages, so Caffe's files too, end at 2 GiB.
  if (file.size() > INT_MAX) {
    ThrowUserError(path, ": not a Caffe model: it has ", file.size(), " bytes, expected at most ",
                   INT_MAX);
  }
  if (IsHdf5(file)) {
    ThrowUserError(path,
                   ": is a Caffe model in HDF5, expected a binary NetParameter: write it again "
                   "in Caffe with snapshot_format: BINARYPROTO, or with net.save()");
  }
  google::protobuf::io::FileInputStream stream(file.descriptor(), 1 << 20);
  CodedInputStream in(&stream);
  in.SetTotalBytesLimit(INT_MAX);
  Parser(path, static_cast<int>(file.size()), &in).Run(layer);
}

}  // namespace gf
