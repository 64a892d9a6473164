#pragma once

#include <memory>

#include "data/formats/record_source.h"

namespace gf {

// Gives the images of a source the labels in options.labels.file: a text with a line "key labels"
// per image in any order, separated by blanks, tabs, commas or semicolons. The key is the image's
// (RecordSource::Key) with or without the ending of an image file; a word in double quotes may hold
// separators. Labels are numbers, and for classes also names: of the source, else of
// classes.txt beside the file, else options.net_classes. Empty lines, lines that begin with # and a
// first line that begins with "key" are passed over.
//
// The file is read once, line by line; 24 bytes per image and the labels stay in memory, and 32
// more per image are needed while it is read. Throws UserError "file:line: what" for labels that
// are none, a second line of a key, a key without an image and an image without a line; the last
// two are left out with a warning if options.skip_damaged.
std::unique_ptr<RecordSource> AttachLabels(std::unique_ptr<RecordSource> source,
                                           const SourceOptions& options);

}  // namespace gf
