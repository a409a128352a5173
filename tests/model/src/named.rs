//! Enums whose variants have names for reports.

macro_rules! named {
    ($(#[$of_enum:meta])* $vis:vis enum $enum:ident {
        $($(#[$of_variant:meta])* $variant:ident = $name:literal,)+
    }) => {
        $(#[$of_enum])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis enum $enum {
            $($(#[$of_variant])* $variant,)+
        }

        impl $enum {
            /// All variants.
            $vis const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Returns the name in reports.
            $vis const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}
